"""Link-layer Dual Connectivity against transport multipath, on one machine.

The packages `pdcp`, `link` and `trace` are sans-IO cores: time is an argument (integer
nanoseconds) and nothing in them opens a socket or reads a clock. `element` drives them with real
packets; `emulation` builds the hosts; `scenario` says what one run is.
"""

__version__ = "0.1.0"
