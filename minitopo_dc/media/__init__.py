"""Media that people watch and hear: an adaptive video player and the frames of a call.

Both do no input or output and know no transport: they say what to ask for and when, and are told
what arrived.
"""
