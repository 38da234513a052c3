"""What a step finds, and how a step tells of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from boardlot.errors import BoardlotError

__all__ = ["Failed", "Finding", "Skipped", "in_words", "taken"]


class Finding(NamedTuple):
    """What one step of `examine` found.

    Attributes:
        step: Its name, such as `"TLS"`.
        state: `"ok"`, `"failed"`, or `"skipped"` where there was nothing to do or no way to do it.
        fact: What was found, without any secret.
        advice: What to do about it; `""` where there is nothing to do.

    Examples:
        >>> from boardlot import doctor
        >>> first = next(doctor.examine("http://api.example.com"))
        >>> first.step, first.state
        ('settings', 'failed')
    """

    step: str
    state: Literal["ok", "failed", "skipped"]
    fact: str
    advice: str = ""


class Failed(Exception):
    """A step does not work: the fact, and what to do."""

    def __init__(self, fact: str, advice: str) -> None:
        super().__init__(fact)
        self.fact, self.advice = fact, advice


class Skipped(Exception):
    """A step has nothing to do: the fact, and what to do if that was not meant."""

    def __init__(self, fact: str, advice: str = "") -> None:
        super().__init__(fact)
        self.fact, self.advice = fact, advice


def taken(step: str, take: Callable[[], str]) -> Finding:
    """The finding of a step that returns its fact, or raises what is wrong."""
    try:
        return Finding(step, "ok", take())
    except Failed as failed:
        return Finding(step, "failed", failed.fact, failed.advice)
    except Skipped as skipped:
        return Finding(step, "skipped", skipped.fact, skipped.advice)
    except BoardlotError as error:
        return Finding(step, "failed", str(error), error.hint)


def in_words(error: BaseException) -> str:
    """What the operating system or OpenSSL says, without numbers and source lines."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    words = getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error)
    return str(words)
