"""Objects that many threads share, and objects that refer to each other."""
