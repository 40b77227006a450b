"""The virtual clock: a scenario as discrete events, with real QUIC over the real cores.

aioquic's connections, PDCP entities and legs are all sans-IO. Here they share one queue of events
in place of sockets, kernels and processes: it needs no root, has no noise, and is faster than real
time.
"""
