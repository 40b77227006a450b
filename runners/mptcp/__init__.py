"""The kernel's Multipath TCP: transport `mptcp`."""
