"""Runs on the real clock: scenarios, calibration, a user's program."""
