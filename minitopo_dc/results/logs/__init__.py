"""What transports recorded of their connections: qlogs, samples of TCP, captures."""
