"""What the methods of a client return, in other forms: typed frames, tables, progress bars.

Nothing is imported here: `import boardlot` loads none of it.
"""
