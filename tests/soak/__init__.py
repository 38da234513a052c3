"""What takes long or comes in crowds: an hour of work with faults, thousands of peers."""
