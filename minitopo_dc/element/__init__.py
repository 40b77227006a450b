"""The process on a router host: real packets in, bearers and legs over them, real packets out."""
