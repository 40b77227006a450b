"""Servers and clients of this project for workload `command`, one module each, with few imports."""
