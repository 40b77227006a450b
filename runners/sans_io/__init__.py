"""QUIC and MP-QUIC by stacks without input or output (`minitopo_dc.quic`): picoquic and noq."""
