"""Helpers that tests share: servers, certificates, child processes, stores, logins, vectors."""
