"""Internals that users do not import: they may change at any time.

Nothing is imported here: `import boardlot` loads none of it.
"""
