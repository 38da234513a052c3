"""Logins and profiles."""
