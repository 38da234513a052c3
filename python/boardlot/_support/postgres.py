"""Where an archive and a shared rate limit in PostgreSQL look names up."""

from __future__ import annotations


def search_path(schema: str) -> str:
    """The schemas in which a name without one is looked up: this one, after PostgreSQL's own, which
    comes first if it is not named.

    No other schema of the database is among them, whatever it, the role or the address has set. The
    temporary one would come before both if it were not named, and in a session of a pooler it may
    have tables of another client. What is created or dropped is named with its schema.
    """
    return f"{schema}, pg_temp"
