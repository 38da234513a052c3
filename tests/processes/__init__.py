"""Forks, exits, signals and event loops."""
