"""The calendar of IPOs."""
