"""Measures of one run, or of several, from their files."""
