"""Records as tables for people: cells, text and HTML."""
