"""Campaigns: many scenarios times repetitions, interrupted and resumed, as one table."""
