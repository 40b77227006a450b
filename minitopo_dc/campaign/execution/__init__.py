"""Execution of a plan: attempts, workers, the store of results, time left."""
