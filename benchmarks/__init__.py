"""Benchmarks of the element on real packets (root), of the cores, and of what a run costs."""
