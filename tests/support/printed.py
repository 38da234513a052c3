"""The output of the docs' code."""

import ast
import asyncio
import contextlib
import inspect
import io


def printed_by(source, name, mode, names):
    """The output of code; if it awaits, it runs on an event loop of its own."""
    code = compile(source, name, mode, flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        value = eval(code, names)
        if inspect.iscoroutine(value):
            asyncio.run(value)
    return out.getvalue()
