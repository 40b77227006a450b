"""Servers and clients as processes on hosts, and their sockets."""
