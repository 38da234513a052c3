"""The modules that compiled code, or a name that is made at run time, imports.

Programs such as PyInstaller and Nuitka put a module into a frozen application only if Python code
imports it. Nothing here is called: `tests/packaging/test_frozen.py` compares the lists.
"""


def imported_by_the_core() -> None:
    """The modules that `src/` imports by name."""
    import _thread
    import asyncio
    import contextvars
    import datetime
    import decimal
    import inspect
    import json
    import logging
    import numbers
    import os
    import sys

    import boardlot._headers
    import boardlot._support.awaiting
    import boardlot._support.clients
    import boardlot._support.coroutines
    import boardlot._support.credentials.profiles
    import boardlot._support.limit_database
    import boardlot._support.progress
    import boardlot._support.row_classes
    import boardlot._support.typed_dict
    import boardlot.errors
    import boardlot.frames


def imported_on_first_use() -> None:
    """The modules that `boardlot` itself imports by name."""
    import boardlot.archive
    import boardlot.calendar


def commands() -> None:
    """The modules of the command line."""
    import boardlot.cli.commands.archive
    import boardlot.cli.commands.completion
    import boardlot.cli.commands.demo
    import boardlot.cli.commands.doctor
    import boardlot.cli.commands.endpoints
    import boardlot.cli.commands.keygen
    import boardlot.cli.commands.login
    import boardlot.cli.commands.mcp
    import boardlot.cli.commands.open
    import boardlot.cli.commands.openapi
    import boardlot.cli.commands.profile
    import boardlot.cli.commands.request
    import boardlot.cli.commands.sandbox
