"""Models of which a leg is made: capacity, delay, loss."""
