"""The findings of the doctor's steps, and how a step reports them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal, NamedTuple

from boardlot.errors import BoardlotError


class Finding(NamedTuple):
    """The result of one step of `examine`.

    Attributes:
        step: Its name, such as `"TLS"`.
        state: `"ok"`, `"failed"`, or `"skipped"` if there was nothing to check or no way to check
            it.
        detail: What was found, without any secret.
        hint: What to do about it; `""` if there is nothing to do.

    Examples:
        >>> from boardlot import doctor
        >>> first = next(doctor.examine("http://api.example.com"))
        >>> first.step, first.state
        ('settings', 'failed')
    """

    step: str
    state: Literal["ok", "failed", "skipped"]
    detail: str
    hint: str = ""


class Failed(Exception):
    """A step failed: the detail, and what to do."""

    state: Literal["failed", "skipped"] = "failed"

    def __init__(self, detail: str, hint: str = "") -> None:
        super().__init__(detail)
        self.detail: str = detail
        self.hint: str = hint


class Skipped(Failed):
    """A step has nothing to check: the detail, and what to do if that was not intended."""

    state: Literal["failed", "skipped"] = "skipped"


def run_step(step: str, check: Callable[[], str]) -> Finding:
    """The finding of a check that returns its detail, or raises an error."""
    try:
        return Finding(step, "ok", check())
    except Failed as failed:
        return Finding(step, failed.state, failed.detail, failed.hint)
    except BoardlotError as error:
        return Finding(step, "failed", str(error), error.hint)


@contextmanager
def failing(what: str, hint: str, refused: str = "") -> Iterator[None]:
    """Say what has failed, with the message of the operating system, and what to do about it or
    about a connection that was refused."""
    try:
        yield
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error)
        if isinstance(error, TimeoutError):
            reason = "no response in time"
        hint = refused if refused and isinstance(error, ConnectionRefusedError) else hint
        raise Failed(f"{what}: {reason}", hint) from None
