"""MP-QUIC by TQUIC's tools: transport `mpquic`."""
