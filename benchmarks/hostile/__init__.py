"""What a hostile user, machine or network does to the project: `python -m benchmarks.hostile`."""
