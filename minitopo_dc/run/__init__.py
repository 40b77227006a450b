"""What every run has, on either clock: its routers' settings, its checks, its result."""
