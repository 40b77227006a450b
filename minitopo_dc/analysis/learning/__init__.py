"""What decides over the points of a design: trees, importance, hold-out accuracy."""
