"""What a campaign file may hold, and the plan of runs that it makes."""
