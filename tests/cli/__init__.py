"""The command line, as a process of its own and as a function."""
