"""The parts that an archive and a shared rate limit have in common in PostgreSQL: the schemas in
which names are looked up, and the text of an error."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import psycopg

# The hint in the text of a connection's error, which has no separate parts.
HINT = re.compile(r"\n\s*HINT:.*")


def search_path(schema: str) -> str:
    """The schemas in which a name without a schema is looked up: `schema`, after PostgreSQL's own,
    which comes first if it is not named.

    No other schema of the database is among these, whatever the database, the role or the address
    has set. The temporary schema would come before both if it were not named, and in a session of a
    pooler it may have tables of another client. Objects that are created or dropped are named with
    their schema.
    """
    return f"{schema}, pg_temp"


def reason(error: psycopg.Error) -> str:
    """The server's reason for an error, in one line.

    The reason does not include the server's hint, which is advice for the author of a statement and
    not for the user of boardlot ("Use DROP TABLE to remove a table"), nor the lines of the
    statement.
    """
    parts = [error.diag.message_primary or HINT.sub("", str(error)), error.diag.message_detail]
    return " ".join(": ".join(filter(None, parts)).split())
