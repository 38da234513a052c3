"""`Client` and `AsyncClient`: a method for each endpoint of the service.

Generated from the table of endpoints by `make generate`: change that, not this.
"""

from __future__ import annotations

from . import _core
from ._core import (
    ApiKey,
    AsyncPager,
    BearerToken,
    DateRange,
    Explanation,
    OAuth,
    Pager,
    Recorder,
    Records,
    Replay,
    RequestEvent,
    Response,
    ResponseEvent,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    import datetime
    import os
    import types
    import typing
    from collections import abc

    from typing_extensions import Self

    from . import _arguments, _records, calendar
else:

    class _Module:
        """A module that is imported when an annotation that names it is evaluated.

        `typing` alone would take longer to import than all of boardlot.
        """

        def __init__(self, name):
            self._name = name

        def __getattr__(self, name):
            return getattr(__import__(self._name, fromlist=[name]), name)

    # Not by assignment, which linters would take for the names' only meaning.
    globals().update(
        {name: _Module(name) for name in ("datetime", "os", "types", "typing")},
        abc=_Module("collections.abc"),
        calendar=_Module("boardlot.calendar"),
        _arguments=_Module("boardlot._arguments"),
        _records=_Module("boardlot._records"),
        Self=_core.ClientBase,
    )
