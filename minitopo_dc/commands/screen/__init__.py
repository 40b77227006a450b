"""What commands show while they run, and where results go."""
