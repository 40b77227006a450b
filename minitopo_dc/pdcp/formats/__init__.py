"""Wire formats of PDCP PDUs and reports, and what is read of the packets that PDUs carry."""
