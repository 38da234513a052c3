"""The wheel as users install it: into empty environments, for every extra and every CPython.

What builds or installs a wheel is marked `slow`; `make wheel-test` runs it, and names the wheel
of a release by `BOARDLOT_TEST_WHEEL`. Without that, one is built without optimization. The
short form puts the compiled package of this environment into an empty one.
"""

import email
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from importlib.metadata import distribution
from pathlib import Path

import bill_of_materials
import boardlot
import notices
import pytest
import release_files
import wheel_crates

from .installed import EXTRAS, MISSING
from .interpreters import OLDEST, VERSIONS, interpreter

ROOT = Path(__file__).parents[2]
PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
GIVEN = os.environ.get("BOARDLOT_TEST_WHEEL")


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    if GIVEN:
        return Path(GIVEN).absolute()
    folder = tmp_path_factory.mktemp("wheel")
    succeeds(sys.executable, ROOT / "tools" / "notices.py")
    succeeds(sys.executable, ROOT / "tools" / "bill_of_materials.py")
    # Stored, since packing a hundred megabytes takes longer than building them.
    how = ["--locked", "--quiet", "--profile", "dev", "--compression-method", "stored"]
    bill = ["--sbom-include", str(bill_of_materials.FILE)]
    command = [sys.executable, "-m", "maturin", "build", *how, *bill, "--out", str(folder)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return next(folder.glob("boardlot-*.whl"))


Held = Callable[[str], bytes]


@pytest.fixture(params=["installed", pytest.param("wheel", marks=pytest.mark.slow)])
def held(request):
    """Reads a file of the `.dist-info`: of this environment's, and of the wheel's."""
    if request.param == "installed":
        return lambda name: (distribution("boardlot").read_text(name) or "").encode()
    return lambda name: read(request.getfixturevalue("wheel"), name)


def read(wheel, name):
    with zipfile.ZipFile(wheel) as archive:
        (path,) = [path for path in archive.namelist() if path.endswith(f".dist-info/{name}")]
        return archive.read(path)


def empty_environment(python, folder):
    """The interpreter of a new environment without pip."""
    environment = folder / "environment"
    succeeds(python, "-m", "venv", "--without-pip", environment)
    return environment / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def succeeds(*command):
    # Nothing of the checkout may be imported instead of what was installed, and the index does not
    # have a certificate of the tests.
    without = ("PYTHONPATH", "SSL_CERT_FILE")
    environment = {key: value for key, value in os.environ.items() if key not in without}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd="/")
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_the_package_alone_works_in_an_empty_environment(tmp_path):
    inside = empty_environment(Path(sys.executable), tmp_path)
    where = succeeds(inside, "-c", "import sysconfig; print(sysconfig.get_path('platlib'))")
    site, info = Path(where.strip()), f"boardlot-{boardlot.__version__}.dist-info"
    shutil.copytree(Path(boardlot.__file__).parent, site / "boardlot")
    info = shutil.copytree(distribution("boardlot").locate_file(info), site / info)
    # The build of a wheel writes it; `test_supply_chain.py` compares its text.
    (info / "licenses" / "THIRD-PARTY-NOTICES").touch()
    with (info / "RECORD").open("a") as record:
        record.write(f"boardlot/py.typed,,\n{info.name}/licenses/THIRD-PARTY-NOTICES,,\n")
    command = inside.with_name("boardlot")
    command.write_text(f"#!{inside}\nimport sys\nfrom boardlot.cli import main\nsys.exit(main())\n")
    command.chmod(0o755)
    succeeds(inside, Path(__file__).with_name("installed.py"))


@pytest.mark.slow
@pytest.mark.parametrize("extra", [None, *EXTRAS])
@pytest.mark.parametrize("version", VERSIONS)
def test_the_wheel_alone_brings_nothing_and_each_extra_works_on_every_cpython(
    wheel, version, extra, tmp_path
):
    """Makes an empty environment, installs the wheel there and runs `installed.py`."""
    inside = environment_of(version, tmp_path)
    what = f"{wheel}[{extra}]" if extra else str(wheel)
    # Compiling all that an extra brings takes longer than installing it.
    quiet = ["--quiet", "--disable-pip-version-check", "--no-compile", "--only-binary", ":all:"]
    pip = [sys.executable, "-m", "pip", "--python", inside]
    succeeds(*pip, "install", *quiet, what)
    succeeds(inside, Path(__file__).with_name("installed.py"), *([extra] if extra else []))
    if extra is None:
        frozen = json.loads(succeeds(*pip, "list", "--format", "json"))
        assert [each["name"] for each in frozen] == ["boardlot"]


@pytest.mark.slow
@pytest.mark.parametrize("extra", EXTRAS)
@pytest.mark.parametrize("version", VERSIONS)
def test_each_extra_works_with_the_oldest_packages_that_it_allows(wheel, version, extra, tmp_path):
    """Each package that the extra names, in the oldest version that is there for this CPython."""
    inside = environment_of(version, tmp_path)
    succeeds(
        *uv(inside), *OLDEST_DIRECT, "--requirements", ROOT / "pyproject.toml", "--extra", extra
    )
    succeeds(*uv(inside), "--no-deps", wheel)
    succeeds(inside, Path(__file__).with_name("installed.py"), extra)


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_the_command_that_a_hint_names_replaces_a_package_that_is_too_old(wheel, version, tmp_path):
    inside = environment_of(version, tmp_path)
    succeeds(*uv(inside), "--only-binary", ":all:", wheel, "polars==1.3.0")
    hint = "try:\n import boardlot.polars\nexcept ImportError as error:\n print(error)"
    _, _, command = succeeds(inside, "-c", hint).strip().rpartition(": pip ")
    assert command == "install -U 'boardlot[polars]'"
    # The wheel stands for the release that pip would find by its name.
    arguments = shlex.split(command.replace("boardlot", str(wheel)))
    succeeds(sys.executable, "-m", "pip", "--python", inside, *arguments)
    succeeds(inside, "-c", "import boardlot.polars")


def environment_of(version, folder):
    """The interpreter of an empty environment with that version of CPython."""
    python = interpreter(version)
    if python is None:
        pytest.skip(f"CPython {version} is not on this machine")
    return empty_environment(python, folder)


# pip has no such option.
OLDEST_DIRECT = ("--resolution", "lowest-direct", "--only-binary", ":all:")


def uv(inside):
    """The command that installs into the environment of an interpreter."""
    command = shutil.which("uv", path=Path(sys.executable).parent) or shutil.which("uv")
    if command is None:
        pytest.skip("uv is not installed")
    # Those of the system are the ones by which pip checks, too.
    return command, "--system-certs", "pip", "install", "--quiet", "--python", inside


@pytest.mark.parametrize("hint", [hint for hint in MISSING.values() if " or newer: " in hint])
def test_a_hint_names_the_oldest_version_that_its_extra_allows(hint):
    """Else pip would be content with a version that is too old."""
    needed, extra = re.search(r"needs \w+ ([\d.]+) or newer: .*\[(\w+)\]'$", hint).groups()
    (packages,) = re.findall(rf"^{extra} = \[(.+)\]$", PYPROJECT, re.M)
    assert re.match(rf'"[\w\[\]]+>={re.escape(needed)}"', packages)


def test_the_extras_tried_are_those_that_the_wheel_names(held):
    named = email.message_from_bytes(held("METADATA")).get_all("Provides-Extra")
    # `tools/nightly/engines` tries the others.
    assert set(named or ()) == {*EXTRAS, "ray", "spark"}


def test_the_wheel_is_for_every_cpython_from_the_oldest_promised(held):
    metadata = email.message_from_bytes(held("METADATA"))
    assert metadata["Requires-Python"] == f">={OLDEST}"
    assert f"Tag: cp{OLDEST.replace('.', '')}-abi3-" in held("WHEEL").decode()


def test_the_wheel_holds_its_licenses(held):
    assert b"MIT License" in held("licenses/LICENSE-MIT")
    assert b"Apache License" in held("licenses/LICENSE-APACHE")


@pytest.mark.slow
def test_the_wheel_holds_the_bill_of_materials_of_its_system(wheel):
    """And no other bill; `test_supply_chain.py` compares what it says with the build."""
    with zipfile.ZipFile(wheel) as archive:
        bills = [name for name in archive.namelist() if ".dist-info/sboms/" in name]
    assert [Path(name).name for name in bills] == ["boardlot.cyclonedx.json"]
    bill = json.loads(read(wheel, "sboms/boardlot.cyclonedx.json"))
    assert bill == bill_of_materials.bill(wheel_crates.host())


@pytest.mark.slow
def test_the_wheel_holds_the_notices_of_all_crates(wheel):
    assert read(wheel, "licenses/THIRD-PARTY-NOTICES").decode() == notices.notices(notices.linked())


@pytest.mark.slow
@pytest.mark.skipif(not GIVEN, reason="a wheel built for tests alone is neither small nor packed")
def test_the_wheel_of_a_release_is_as_small_as_promised(wheel):
    assert wheel.stat().st_size <= release_files.WHEEL_MAX_BYTES
