"""Runs stubtest on the compiled module and its stub, whose files are not modules of their own.

Stubtest checks a name in the module that defines it: here a file of the stub, to which belongs what
the compiled module has of its names.
"""

from __future__ import annotations

import ast
import sys
import tempfile
from types import ModuleType

from boardlot import _core
from mypy import stubtest
from stub_docstrings import STUB

# mypy, on which stubtest is built, does not read `__all__ += module.__all__`.
EXPORTS = r"boardlot\._core\.__all__"


def main() -> int:
    for file in STUB:
        if file.stem == "__init__":
            continue
        part = ModuleType(f"{_core.__name__}.{file.stem}")
        for node in ast.parse(file.read_text("utf-8")).body:
            name = getattr(node, "name", "")
            if hasattr(_core, name):
                setattr(part, name, getattr(_core, name))
            elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                part.__all__ = ast.literal_eval(node.value)  # type: ignore[attr-defined]
        sys.modules[part.__name__] = part
    with tempfile.NamedTemporaryFile("w") as allowlist:
        allowlist.write(f"{EXPORTS}\n")
        allowlist.flush()
        sys.argv[1:] = [_core.__name__, "--mypy-config-file", "pyproject.toml"]
        sys.argv += ["--allowlist", allowlist.name, "--ignore-unused-allowlist"]
        return stubtest.main()


if __name__ == "__main__":
    sys.exit(main())
