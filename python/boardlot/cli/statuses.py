"""The exit statuses of the command line, on which a job or a monitor can decide."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from boardlot.errors import ApiError, BoardlotError, ConfigError, OAuthError

# An error whose `retryable` is true: the same command may succeed later.
RETRYABLE = 1
# The command line is wrong.
USAGE = 2
# Any other error: a person must act.
FAILED = 3
# A signal ended the command: 128 and its number, as shells report it.
INTERRUPTED, TERMINATED = 130, 143


def status_of(error: BaseException) -> int:
    """The exit status of a command that this error ended."""
    if isinstance(error, ConfigError) and not getattr(error, "is_of_files", False):
        return USAGE
    return RETRYABLE if getattr(error, "retryable", False) else FAILED


def status_of_all(errors: Iterable[BaseException]) -> int:
    """The exit status for several errors: retryable if trying again is enough for each."""
    statuses = {status_of(error) for error in errors}
    return 0 if not statuses else RETRYABLE if statuses == {RETRYABLE} else FAILED


@contextmanager
def reading_files() -> Iterator[None]:
    """Distinguishes an error in `config.toml` or a key from a wrong command line."""
    try:
        yield
    except ConfigError as error:
        error.is_of_files = True  # type: ignore[attr-defined]
        raise


def members_of(error: BaseException) -> dict[str, Any]:
    """The members about an error in a JSON line of the log, for programs."""
    code = getattr(error, "code", None)
    if code is None and isinstance(error, ApiError):
        code = error.error_code
    if isinstance(error, OAuthError):
        code = error.error or None
    retryable, hint = False, ""
    if isinstance(error, BoardlotError):
        retryable, hint = error.retryable, error.hint
    return {"error": type(error).__name__, "code": code, "retryable": retryable, "hint": hint}
