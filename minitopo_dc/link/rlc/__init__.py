"""A leg with RLC and HARQ (TS 38.322, TS 38.321)."""
