"""QUIC by ngtcp2's tools: transport `quic-ngtcp2`."""
