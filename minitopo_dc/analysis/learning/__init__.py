"""Statistics of what decides over a design's points: trees, importance, hold-out accuracy."""
