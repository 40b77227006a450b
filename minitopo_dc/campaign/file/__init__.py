"""Campaign files: what they may hold, and the plan of runs that they make."""
