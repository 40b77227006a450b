"""The transmitting PDCP entity (TS 38.323, clause 5.2.1) and its legs."""
