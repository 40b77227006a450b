"""Picoquic inside the process: a QUIC connection without input or output, on one or more paths."""
