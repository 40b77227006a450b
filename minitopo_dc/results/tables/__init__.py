"""Tables of results: runs, rows, time series, the papers' numbers."""
