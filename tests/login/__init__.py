"""Logins, token stores and profiles: of one user, of the users of a web application, of others."""
