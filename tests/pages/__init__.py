"""Rows are delivered exactly once, whatever interrupts; calls return, wherever they are made."""
