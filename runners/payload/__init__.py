"""What is transferred: content, requests, certificates."""
