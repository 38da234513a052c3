"""Faults on purpose, between the client and a service that has none."""
