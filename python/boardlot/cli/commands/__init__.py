"""The commands: a module is loaded only when one of its commands is called."""
