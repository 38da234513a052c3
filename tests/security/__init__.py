"""What boardlot promises to keep safe, each promise a test with its number."""
