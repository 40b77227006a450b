"""Mininet topologies, one per file; each also works with `mn --custom FILE --topo NAME`."""
