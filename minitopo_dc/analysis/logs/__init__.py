"""What the transports wrote of their connections: qlog, tcp_info, captures."""
