"""Numbers about one run, from its files."""
