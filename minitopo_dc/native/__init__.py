"""The native core: legs, PDCP and the virtual clock's events in C, where the Python cores are hot.

The Python cores stay the reference: each model here is the counterpart of one there, and equal to
it.
"""
