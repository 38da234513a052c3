"""Sending: retries, rate limits, deadlines, the clock, connections, and reports of all of them."""
