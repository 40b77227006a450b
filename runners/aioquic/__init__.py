"""QUIC by aioquic: transport `quic`."""
