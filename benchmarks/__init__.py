"""Benchmarks of the element on real packets: `python -m benchmarks` (root)."""
