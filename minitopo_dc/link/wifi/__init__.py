"""A leg over IEEE 802.11: medium access, aggregation, hops."""
