"""What a query that failed probably meant."""

from __future__ import annotations

import re
from collections.abc import Collection

from boardlot import _core
from boardlot.archive.database import Database
from boardlot.errors import ConfigError

# As SQLite and PostgreSQL write them, perhaps with a table before the column.
COLUMN = re.compile(r"no such column: (?P<name>\S+)|column \"?(?P<own>[^\" ]+)\"? does not exist")
VIEW = re.compile(r"no such table: (?P<name>\S+)|relation \"?(?P<own>[^\" ]+)\"? does not exist")
WRITING = re.compile(
    r"\s*(alter|attach|copy|create|delete|drop|insert|merge|pragma|replace|truncate|update|vacuum)\b",
    re.IGNORECASE,
)
WORD = re.compile(r"\w+")


def explained(database: Database, query: str, error: ConfigError) -> ConfigError:
    """The error of a query, with the nearest name if one does not exist."""
    text = str(error)
    if found := VIEW.search(text):
        suggestion = _nearest(found, database.view_columns(), "views")
    elif found := COLUMN.search(text):
        columns = database.view_columns()
        words = set(WORD.findall(query.lower()))
        mentioned = [view for view in columns if view in words] or list(columns)
        names = dict.fromkeys(name for view in mentioned for name in columns[view])
        suggestion = _nearest(found, names, "columns")
    else:
        suggestion = ""
    hint = "A query can read, but nothing else." if WRITING.match(query) else error.hint
    return ConfigError(f"{text}{suggestion}", hint=hint)


def _nearest(found: re.Match[str], known: Collection[str], what: str) -> str:
    wrong = (found["name"] or found["own"]).rpartition(".")[2].strip("\"'`")
    nearest = _core._did_you_mean(wrong, [*known])
    # `fills_histor` resembles `ipos_history`, but fills are meant.
    begun = next((name for name in known if wrong.startswith(f"{name}_")), "")
    if begun not in nearest:
        nearest = f"; did you mean '{begun}'?"
    return nearest or f"; the {what} are {', '.join(known)}"
