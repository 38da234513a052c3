"""Rows that are delivered exactly once, whatever interrupts; and calls from places nobody expects."""
