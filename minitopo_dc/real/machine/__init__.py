"""Facts about this machine, and the runs that are on it."""
