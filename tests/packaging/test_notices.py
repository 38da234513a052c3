"""The licences of what is linked into the extension module are in THIRD-PARTY-NOTICES."""

import re
import subprocess
from pathlib import Path

import notices
import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = re.compile(r"^([\w-]+ \d+\.\d+\.\d+\S*) \(.+\)$", re.MULTILINE)


@pytest.fixture(scope="module")
def named():
    return set(PACKAGE.findall(notices.FILE.read_text(encoding="utf-8")))


def test_every_crate_that_is_linked_on_this_machine_has_its_notice(named):
    said = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout
    (host,) = re.findall(r"^host: (.+)$", said, re.MULTILINE)
    # Offline, as all of these are built here; those of other systems may not have been downloaded.
    linked = {f"{each['name']} {each['version']}" for each in notices.linked_for(host, True)}
    assert len(linked) > 150
    assert linked - named == set(), "run `make notices`"


def test_every_notice_is_of_a_crate_of_the_lock_file(named):
    lock = (ROOT / "Cargo.lock").read_text(encoding="utf-8")
    locked = re.findall(r'^name = "(.+)"\nversion = "(.+)"$', lock, re.MULTILINE)
    assert named - {" ".join(each) for each in locked} == set(), "run `make notices`"
    # Of other systems, too.
    of_others = {"windows-sys", "security-framework"}
    assert of_others <= {name.partition(" ")[0] for name in named}


def test_what_crates_bundle_and_the_standard_library_have_theirs_too(named):
    text = notices.FILE.read_text(encoding="utf-8")
    for owner in ("The Rust Project contributors", "Microsoft Corporation, Daan Leijen", "OpenSSL"):
        assert owner in text
