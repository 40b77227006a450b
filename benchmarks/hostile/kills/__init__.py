"""Signals, stops, busy processors and limits at random moments of runs on the real clock (root)."""
