"""The view of type checkers: records, overloads, names, docstrings, and every example."""
