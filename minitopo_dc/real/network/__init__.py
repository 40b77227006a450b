"""Mininet hosts and what runs on them: elements, captures, limits."""
