"""Mininet topologies, one a file; each also works with ``mn --custom FILE --topo NAME``."""
