"""The process on a router host: it takes real packets, and sends them over bearers and legs."""
