"""Tests that take long or come in crowds: an hour of work with faults, thousands of peers."""
