"""One end of a connection of QUIC or MP-QUIC around noq-proto, a stack in Rust (docs/noq.md)."""
