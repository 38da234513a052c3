"""Credentials that are read for commands."""
