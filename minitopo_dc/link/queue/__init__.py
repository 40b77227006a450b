"""Active queue management of a leg's queue: disciplines that mark or drop packets of it."""
