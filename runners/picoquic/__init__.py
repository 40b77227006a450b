"""QUIC and MP-QUIC by picoquic: transports `quic-picoquic` and `mpquic-picoquic`."""
