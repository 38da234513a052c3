"""Web applications with their own users: `OAuthApp` and the example application."""
