"""Output of data: the choice of rows and fields, the format, and the file."""
