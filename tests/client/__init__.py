"""The clients: errors, hooks, cassettes, signatures, progress, the pytest plugin."""
