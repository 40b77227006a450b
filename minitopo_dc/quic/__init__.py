"""QUIC connections without input or output, on one or more paths, of any stack behind `stack.h`."""
