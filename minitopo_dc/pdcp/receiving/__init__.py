"""The receiving PDCP entity (TS 38.323, clause 5.2.2) and what it reports."""
