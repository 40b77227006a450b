"""Echoes by ping(8): transport `icmp`."""
