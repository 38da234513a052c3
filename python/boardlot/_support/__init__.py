"""What users do not import: it may change at any time.

Nothing is imported here: `import boardlot` loads none of it.
"""
