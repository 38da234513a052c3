"""What boardlot promises about logins, tokens and keys, each promise a test with its number."""
