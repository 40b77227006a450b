"""Drives past cells: sites, propagation, channels, handovers."""
