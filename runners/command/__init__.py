"""Users' own programs as a transport: `command`."""
