"""Real transports between two hosts: one module for each transport, behind a small registry.

A runner knows a transport's server, its client and how their output is read. It knows nothing of
what lies between the hosts: see `base` for the contract and `session` for a run.
"""
