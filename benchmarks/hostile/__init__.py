"""Benchmarks of hostile users, machines and networks: `python -m benchmarks.hostile`."""
