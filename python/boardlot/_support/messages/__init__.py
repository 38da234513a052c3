"""Texts of errors and commands: hints, nearest names, and calls that were meant."""
