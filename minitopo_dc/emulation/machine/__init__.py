"""What this machine has, and which runs are on it."""
