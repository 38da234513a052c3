"""Looks for secrets wherever an object, an error or a log could show them."""

import base64
import copy
import functools
import json
import logging
import pickle
import traceback
from pathlib import Path

import boardlot as bl

CANARY = "canary-7f1e0c55d2"
PACKAGE = str(Path(bl.__file__).parent)
# The spellings of promise 14.
SPELLINGS = {
    "exactly": str,
    "percent-encoded": lambda text: "".join(f"%{byte:02X}" for byte in text.encode()),
    "JSON-escaped": lambda text: "".join(f"\\u{ord(c):04x}" for c in text),
    "HTML-escaped": lambda text: "".join(f"&#{ord(c)};" for c in text),
    "in Base64": lambda text: base64.b64encode(text.encode()).decode(),
}


def hits(secrets, text):
    """The secrets that a text has in any spelling, or as Rust shows bytes."""
    if isinstance(text, bytes):
        text = text.decode("latin-1")
    return [one for one in secrets if any(form in text for form in forms(one))]


@functools.lru_cache
def forms(secret):
    found = [", ".join(map(str, secret.encode()))]
    for spelling, spell in SPELLINGS.items():
        # The last character of Base64 depends on what follows the secret.
        found.append(spell(secret).rstrip("=")[:-1] if spelling == "in Base64" else spell(secret))
    return found


def appearances(thing):
    """All the ways to look at an object that are open to a log or a crash report."""
    yield "repr", repr(thing)
    yield "str", str(thing)
    yield "format", f"{thing} {thing!r:>100} {thing!a}"
    yield "vars", repr(getattr(thing, "__dict__", {}))
    yield "doc", str(thing.__doc__)
    for name in dir(thing):
        if not name.startswith("__") and name not in ("url", "private_pem"):
            try:
                value = getattr(thing, name)
            except Exception as error:
                value = error
            if not callable(value):
                yield f".{name}", repr(value)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        try:
            yield f"pickle {protocol}", pickle.dumps(thing, protocol).decode("latin-1")
        except Exception as error:
            yield f"pickle {protocol}", crash_report(error)
    for way in (copy.copy, copy.deepcopy):
        try:
            yield way.__name__, repr(way(thing))
        except Exception as error:
            yield way.__name__, crash_report(error)
    try:
        yield (
            "json",
            json.dumps(thing, default=lambda value: getattr(value, "__dict__", repr(value))),
        )
    except Exception as error:
        yield "json", crash_report(error)


def crash_report(error):
    """An error as a crash report with local variables shows it."""
    report = traceback.TracebackException.from_exception(error, capture_locals=True)
    frames = [frame for frame in report.stack if frame.filename.startswith(PACKAGE)]
    chain = "".join(traceback.format_exception(error))
    seen = [chain, repr(error), repr(vars(error)), repr(error.args)]
    return "\n".join([*seen, *(f"{frame.locals}" for frame in frames)])


class LogCapture(logging.Handler):
    """Captures everything that is logged within the `with` block, at any level."""

    NAMES = ("boardlot.http", "boardlot.retry", "boardlot.auth")
    LOGGERS = (logging.getLogger(), *map(logging.getLogger, NAMES))

    def __init__(self):
        super().__init__(level=1)
        self.lines = []

    def __enter__(self):
        self.levels = [logger.level for logger in self.LOGGERS]
        for logger in self.LOGGERS:
            logger.addHandler(self)
            logger.setLevel(1)
        return self

    def __exit__(self, *_):
        for logger, level in zip(self.LOGGERS, self.levels, strict=True):
            logger.removeHandler(self)
            logger.setLevel(level)

    def emit(self, record):
        self.lines.append(f"{record.getMessage()} {vars(record)}")


def variables_with(secret, error):
    """The variables that contain the secret, in frames of boardlot and in frames that boardlot
    calls, of an error and of all its causes."""
    found, waiting, seen = [], [error], set()
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        waiting += [one.__cause__, one.__context__]
        inside = False
        for frame, _ in traceback.walk_tb(one.__traceback__):
            inside = inside or frame.f_code.co_filename.startswith(PACKAGE)
            if inside:
                itself = frame.f_locals.get("self")
                # Some reporters show the attributes of the object whose method the frame is.
                attributes = [("attributes", getattr(itself, "__dict__", {}))]
                found += [
                    f"{frame.f_code.co_filename} {frame.f_code.co_name}: {name}"
                    for name, value in [*frame.f_locals.items(), *attributes]
                    if secret in repr(value)
                ]
        found += [repr(one)] if secret in f"{one!r} {one} {vars(one)}" else []
    return found
