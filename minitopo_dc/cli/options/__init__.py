"""Options that several commands share, and the settings that they make."""
