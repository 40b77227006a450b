"""PDUs and what is read of packets: headers, trailers, reports."""
