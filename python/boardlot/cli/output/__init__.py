"""Output of data: which rows and fields, in which format, to which file."""
