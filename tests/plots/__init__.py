"""The charts."""
