"""Differences between systems, on each: consoles, paths, line breaks, locks, open files."""
