"""Options of several commands, and what they make."""
