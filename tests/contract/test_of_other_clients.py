"""Reports about other clients: subclasses, long URLs, second imports, no descriptors, no folder."""

import sys

import boardlot as bl
import pytest

from ..support.processes import program, run_python
from ..support.service import StandInService


def test_a_url_that_is_too_long_is_not_sent():
    with StandInService() as service, bl.Client(service.base_url) as client:
        for call in (
            lambda: client.request("GET", "/x", query={"codes": "A" * 66_000}),
            lambda: client.request("GET", "/x" * 40_000),
        ):
            with pytest.raises(bl.ConfigError, match="too long; expected at most 65,534 bytes"):
                call()
        assert service.received == []


def test_errors_are_caught_after_a_second_import():
    run_python("""
        import sys
        import boardlot
        for name in [name for name in sys.modules if name.split(".")[0] == "boardlot"]:
            del sys.modules[name]
        import boardlot as bl
        try:
            bl.Client("ftp://x")
        except bl.ConfigError:
            pass
        """)


@pytest.mark.skipif(sys.platform == "win32", reason="limits of POSIX")
@pytest.mark.parametrize("free", range(7))
def test_without_descriptors_a_call_fails_with_an_error(free):
    run_python(program(__file__, "without_descriptors"), free)


@pytest.mark.skipif(sys.platform == "win32", reason="a folder that is in use is not removed there")
def test_a_working_directory_that_was_removed_is_named(tmp_path, monkeypatch):
    folder = tmp_path / "folder"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    with pytest.raises(bl.ConfigError, match="the working directory was removed"):
        bl.Archive("a.db")
