"""A user's own program: transport `command`."""
