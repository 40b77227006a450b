"""What transports recorded of their connections: qlog, tcp_info, captures."""
