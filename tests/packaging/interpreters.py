"""The CPythons of this machine: on the path, and in pyenv's folder of versions."""

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

OLDEST = "3.10"
VERSIONS = (OLDEST, "3.11", "3.12", "3.13", "3.14", "3.15")

# Prints its version where it is a CPython that loads the stable ABI.
ASK = (
    "import sys, sysconfig; "
    "sys.exit(1) if sys.implementation.name != 'cpython' "
    "or sysconfig.get_config_var('Py_GIL_DISABLED') "
    "else print('%d.%d' % sys.version_info[:2])"
)


@cache
def interpreter(version):
    """An interpreter of that minor version, where there is one."""
    for candidate in candidates(version):
        try:
            said = subprocess.run([candidate, "-I", "-c", ASK], capture_output=True, text=True)
        except OSError:
            continue
        if said.returncode == 0 and said.stdout.strip() == version:
            return candidate
    return None


def candidates(version):
    if sys.version_info[:2] == tuple(map(int, version.split("."))):
        yield Path(sys.executable)
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    for folder in sorted((pyenv / "versions").glob(f"{version}.*"), reverse=True):
        yield folder / "bin" / "python"
    if found := shutil.which(f"python{version}"):
        yield Path(found)
