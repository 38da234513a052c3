"""What the generated clients in `boardlot._api` need from Python.

Nothing is imported here: `import boardlot` loads none of it.
"""
