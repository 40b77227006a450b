"""Picoquic as an extension of Python: its build, and this project's code in C around it."""
