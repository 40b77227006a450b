"""Plugins, programs and campaigns to begin with, each of which is read as a user would write it."""
