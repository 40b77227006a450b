"""Split policies, and the view of the legs that they decide by."""
