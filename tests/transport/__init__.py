"""Sending: retries, rate limits, deadlines, the clock, connections."""
