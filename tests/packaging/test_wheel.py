"""The wheel as users install it: into empty environments, for every extra and every CPython.

`BOARDLOT_TEST_WHEEL` names the wheel; without it, one is built without optimization. The marker
`slow` has every extra on every CPython; `make wheel-test` runs that on the wheel of a release.
"""

import email
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from .installed import EXTRAS
from .interpreters import NEWEST, OLDEST, VERSIONS, interpreter

ROOT = Path(__file__).parents[2]
GIVEN = os.environ.get("BOARDLOT_TEST_WHEEL")


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if GIVEN:
        return Path(GIVEN).absolute()
    folder = tmp_path_factory.mktemp("wheel")
    # Stored, since packing a hundred megabytes takes longer than building them.
    how = ["--locked", "--quiet", "--profile", "dev", "--compression-method", "stored"]
    command = [sys.executable, "-m", "maturin", "build", *how, "--out", str(folder)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return next(folder.glob("boardlot-*.whl"))


def install_and_check(wheel: Path, version: str, extra: str | None, folder: Path) -> None:
    """Makes an empty environment, installs the wheel there and runs `installed.py`."""
    python = interpreter(version)
    if python is None:
        pytest.skip(f"CPython {version} is not on this machine")
    environment = folder / "environment"
    succeeds(python, "-m", "venv", "--without-pip", environment)
    inside = environment / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    what = f"{wheel}[{extra}]" if extra else str(wheel)
    # Compiling all that an extra brings takes longer than installing it.
    quiet = ["--quiet", "--disable-pip-version-check", "--no-compile", "--only-binary", ":all:"]
    pip = [sys.executable, "-m", "pip", "--python", inside]
    succeeds(*pip, "install", *quiet, what)
    succeeds(inside, Path(__file__).with_name("installed.py"), *([extra] if extra else []))
    if extra is None:
        frozen = json.loads(succeeds(*pip, "list", "--format", "json"))
        assert [each["name"] for each in frozen] == ["boardlot"]


def succeeds(*command: str | Path) -> str:
    # Nothing of the checkout may be imported instead of what was installed.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd="/")
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.parametrize("version", VERSIONS)
def test_the_wheel_alone_works_on_every_cpython_and_brings_nothing(
    wheel: Path, version: str, tmp_path: Path
) -> None:
    install_and_check(wheel, version, None, tmp_path)


@pytest.mark.parametrize("extra", EXTRAS)
def test_each_extra_brings_what_it_promises(wheel: Path, extra: str, tmp_path: Path) -> None:
    install_and_check(wheel, NEWEST, extra, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("extra", EXTRAS)
@pytest.mark.parametrize("version", [version for version in VERSIONS if version != NEWEST])
def test_each_extra_works_on_every_other_cpython(
    wheel: Path, version: str, extra: str, tmp_path: Path
) -> None:
    install_and_check(wheel, version, extra, tmp_path)


def test_the_extras_tried_are_those_that_the_wheel_names(wheel: Path) -> None:
    named = email.message_from_bytes(held(wheel, "METADATA")).get_all("Provides-Extra")
    assert set(named or ()) == set(EXTRAS)


def test_the_wheel_is_for_every_cpython_from_the_oldest_promised(wheel: Path) -> None:
    metadata = email.message_from_bytes(held(wheel, "METADATA"))
    assert metadata["Requires-Python"] == f">={OLDEST}"
    assert f"-cp{OLDEST.replace('.', '')}-abi3-" in wheel.name


def test_the_wheel_holds_both_licences_and_a_bill_of_materials(wheel: Path) -> None:
    assert b"MIT License" in held(wheel, "licenses/LICENSE-MIT")
    assert b"Apache License" in held(wheel, "licenses/LICENSE-APACHE")
    bill = json.loads(held(wheel, "sboms/boardlot.cyclonedx.json"))
    assert bill["bomFormat"] == "CycloneDX"
    crates = {crate["name"]: crate for crate in bill["components"]}
    assert {"pyo3", "reqwest", "rustls", "aws-lc-rs"} <= set(crates)
    assert all(crate["version"] and crate["licenses"] for crate in crates.values())


@pytest.mark.skipif(not GIVEN, reason="a wheel built for tests alone is neither small nor packed")
def test_the_wheel_of_a_release_is_smaller_than_five_megabytes(wheel: Path) -> None:
    assert wheel.stat().st_size < 5_000_000


def held(wheel: Path, name: str) -> bytes:
    """A file of the wheel's `.dist-info`."""
    with zipfile.ZipFile(wheel) as archive:
        (path,) = [path for path in archive.namelist() if path.endswith(f".dist-info/{name}")]
        return archive.read(path)
