"""What type checkers see: records, overloads, names, docstrings, and every example."""
