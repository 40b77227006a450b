"""The real clock: hosts on this machine's kernel, elements and transports on them, and clean-up."""
