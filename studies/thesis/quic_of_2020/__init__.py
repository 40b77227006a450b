"""aioquic of spring 2020, with which the thesis "QUIC over Dual Connectivity" measured."""
