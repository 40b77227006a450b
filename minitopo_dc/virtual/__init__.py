"""The virtual clock: a discrete-event simulation with real QUIC connections, PDCP and legs.

QUIC connections, PDCP entities and legs are all sans-IO. Here one event queue drives them, in place
of sockets, kernels and processes. A run needs no root, repeats exactly, and is faster than real
time.
"""
