"""Results as tables: runs, rows, time series, the papers' numbers."""
