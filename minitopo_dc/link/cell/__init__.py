"""Cells: a capacity that the downlinks of several legs, and background users, share by slots."""
