"""Every example of the documentation, the notebooks and the docstrings runs."""
