"""Picoquic inside the process: a sans-IO connection of QUIC, with one path or several."""
