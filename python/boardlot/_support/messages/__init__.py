"""What errors and commands say: hints, nearest names, and calls that were meant."""
