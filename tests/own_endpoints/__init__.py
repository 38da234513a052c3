"""Endpoints that a user declares."""
