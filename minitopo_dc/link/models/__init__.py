"""Models that a leg is made of: capacity, delay, loss."""
