"""How data is written: which rows and fields, in which format, to which file."""
