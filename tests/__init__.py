"""The tests of boardlot; run `pytest tests` from the root of the repository."""
