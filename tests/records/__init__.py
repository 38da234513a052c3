"""Records and their other forms: dicts, classes, data frames, streams, tables, charts."""
