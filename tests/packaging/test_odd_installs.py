"""Where the compiled module cannot be loaded, the import says why and what to do instead."""

import shutil
import subprocess
import sys
import zipapp
from pathlib import Path

import boardlot as bl
import pytest

PACKAGE = Path(bl.__file__).parent
MODULE = Path(bl._core.__file__ or "").name


@pytest.fixture
def copy(tmp_path):
    """A folder with a copy of the package, whose compiled module is an empty file."""
    without = shutil.ignore_patterns("__pycache__", "docs.html", MODULE)
    shutil.copytree(PACKAGE, tmp_path / "copy" / "boardlot", ignore=without)
    (tmp_path / "copy" / "boardlot" / MODULE).touch()
    return tmp_path / "copy"


def refusal(*arguments, folder):
    """The last line of a program that fails to import boardlot."""
    done = subprocess.run(
        [sys.executable, "-S", *arguments], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 1, done.stdout
    return done.stderr.splitlines()[-1]


def test_a_zipapp_is_refused_with_what_to_use_instead(copy, tmp_path):
    (copy / "__main__.py").write_text("import boardlot")
    application = tmp_path / "app.pyz"
    zipapp.create_archive(copy, application)
    said = refusal(application, folder=tmp_path)
    assert said.startswith("ImportError: boardlot._core, the compiled module of boardlot, cannot")
    assert f"from within a zip file, {application}; " in said
    assert "`pip install --target FOLDER boardlot`" in said


def test_a_package_without_its_compiled_module_says_that_it_was_left_out(copy):
    (copy / "boardlot" / MODULE).unlink()
    said = refusal("-c", "import boardlot", folder=copy)
    assert "is not in the package: it was left out, or was built for another system" in said


@pytest.mark.parametrize("content", [b"", b"MZ\x90\x00" * 1000], ids=["empty", "of Windows"])
def test_a_module_that_the_system_cannot_load_is_named(copy, content):
    (copy / "boardlot" / MODULE).write_bytes(content)
    said = refusal("-c", "import boardlot", folder=copy)
    assert "cannot be loaded (" in said and MODULE in said
    assert "it was built for another system, or is damaged; install boardlot on the" in said
    assert f"CPython {sys.version.split()[0]}" in said
