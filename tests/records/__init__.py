"""Records as dicts, data frames and tables."""
