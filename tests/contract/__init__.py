"""Requests and responses written by hand from the service document, and the tests that use them."""
