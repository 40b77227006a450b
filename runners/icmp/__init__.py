"""Echoes: transport `icmp`."""
