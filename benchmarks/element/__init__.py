"""Costs and rates of the elements: in Python, native, and a plain UDP proxy."""
