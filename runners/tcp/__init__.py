"""The kernel's TCP: transport `tcp`."""
