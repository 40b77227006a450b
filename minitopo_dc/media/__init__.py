"""What people watch and hear: an adaptive video player and the frames of a call, both sans-IO.

Nothing here knows a transport: it says what to ask for and when, and is told what arrived.
"""
