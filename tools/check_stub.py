"""Runs stubtest on the compiled module and its stub."""

from __future__ import annotations

import sys

from boardlot import _core
from mypy import stubtest

if __name__ == "__main__":
    sys.argv[1:] = [_core.__name__, "--mypy-config-file", "pyproject.toml"]
    sys.exit(stubtest.main())
