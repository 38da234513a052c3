"""The promises of boardlot to keep secrets safe, each promise a test with its number."""
