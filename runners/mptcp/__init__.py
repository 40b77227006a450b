"""The kernel's MPTCP: transport `mptcp`."""
