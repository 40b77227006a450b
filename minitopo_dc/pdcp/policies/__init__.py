"""Split policies, and the view of the legs on which they base their decisions."""
