"""What a small image or an unusual mount lacks: zones, certificates, a home, permissions, locks.

Each has its sentence, or is not needed. What needs a mount of its own is run as root (`unshare`).
"""

import errno
import os
import shutil
import subprocess
import sys
import textwrap

import boardlot as bl
import pytest

from ..support.processes import ROOT, run_python

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the jails are those of Linux")
needs_mounts = pytest.mark.skipif(
    not shutil.which("unshare") or os.geteuid() != 0, reason="mounts need root"
)


def in_jail(mounts, code, **environment):
    """What a child prints that has these mounts alone."""
    command = ["unshare", "-m", "sh", "-c", f'{mounts} && exec "$0" -c "$1"']
    done = subprocess.run(
        [*command, sys.executable, textwrap.dedent(code)],
        cwd=ROOT, capture_output=True, text=True, env={**os.environ, **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def empty(*folders):
    return " && ".join(f"mount -t tmpfs none {folder}" for folder in folders)


@needs_mounts
def test_a_frame_needs_no_time_zone_database():
    code = """
        import sys
        sys.modules["tzdata"] = None
        import boardlot as bl
        with bl.Sandbox(seed=7, fills=20) as sandbox, sandbox.client() as client:
            fills = client.fills_history(sandbox.accounts["trade"][0], "HK").all()
            times = fills.to_pandas()["create_time"]
            print(times.dtype, int(times.iloc[0].timestamp() * 1e6) == int(fills[0]["create_time"]))
            print(times.iloc[0].utcoffset(), len(times))
    """
    printed = in_jail(empty("/usr/share/zoneinfo"), code, PYTHONTZPATH="/nonexistent")
    assert printed == "datetime64[us, UTC] True\n0:00:00 20\n"


@needs_mounts
def test_a_system_without_certificates_says_what_to_install():
    code = """
        import boardlot as bl
        try:
            bl.Client("https://127.0.0.1:9", max_retries=0)
        except bl.ConfigError as error:
            print(error.hint)
    """
    environment = {"SSL_CERT_FILE": "", "SSL_CERT_DIR": ""}
    hint = in_jail(empty("/etc/ssl"), code, **environment)
    assert all(word in hint for word in ("ca-certificates", "SSL_CERT_FILE", "ca_file="))


def test_a_key_from_a_pipe_is_refused_with_what_to_pass():
    reader, writer = os.pipe()
    try:
        with pytest.raises(bl.ConfigError, match="is not a regular file") as caught:
            bl.ApiKey("my-key", f"/dev/fd/{reader}")
        assert "PEM text" in caught.value.hint
    finally:
        os.close(reader)
        os.close(writer)


def test_the_configuration_folder_needs_no_home_folder(tmp_path):
    (tmp_path / "boardlot").mkdir()
    file = tmp_path / "boardlot" / "config.toml"
    file.write_text('[profiles.live]\nbase_url = "https://api.example.com"\n')
    code = """
        import os
        del os.environ["HOME"]
        import boardlot as bl
        print(bl.Client(profile="live").base_url)
    """
    out, _ = run_python(code, env={"XDG_CONFIG_HOME": str(tmp_path)})
    assert out == "https://api.example.com\n"


@needs_mounts
def test_a_user_without_a_home_folder_learns_what_to_set():
    """HOME is not set, and `/etc/passwd` has no entry of the user."""
    code = """
        import os
        for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
            os.environ.pop(name, None)
        import boardlot as bl
        # Root is known to the system's libraries; the effective user may still read the package.
        os.setresuid(54_321, 0, 0)
        for make in (lambda: bl.Client(profile="live"), lambda: bl.RateLimit(5, name="x")):
            try:
                make()
            except bl.ConfigError as error:
                print("no home folder" in str(error), "HOME" in error.hint)
    """
    assert in_jail("mount --bind /dev/null /etc/passwd", code) == "True True\n" * 2


@pytest.mark.skipif(not shutil.which("gcc"), reason="the calls are replaced by a C library")
class TestMounts:
    @pytest.fixture
    def refusing(self, tmp_path):
        """The environment of a process in which a call fails, as on SMB, vfat and NFS."""

        def refuse(call, arguments, error):
            source = tmp_path / f"{call}.c"
            source.write_text(
                f"#include <errno.h>\n#include <sys/types.h>\n"
                f"int {call}({arguments}) {{ errno = {error}; return -1; }}\n"
            )
            library = source.with_suffix(".so")
            subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source], check=True)
            folders = {name: str(tmp_path) for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME")}
            return {**folders, "LD_PRELOAD": str(library)}

        return refuse

    def test_a_profile_is_written_where_no_permissions_can_be_set(self, refusing, tmp_path):
        environment = {**os.environ, **refusing("fchmod", "int file, mode_t mode", errno.EPERM)}
        add = [sys.executable, "-m", "boardlot", "profile", "add"]
        for name in ("live", "paper"):
            command = [*add, name, "--base-url", "https://api.example.com"]
            subprocess.run(command, env=environment, check=True, capture_output=True)
        written = (tmp_path / "boardlot" / "config.toml").read_text()
        assert "[profiles.live]" in written and "[profiles.paper]" in written

    def test_a_store_is_written_where_no_permissions_can_be_set(self, refusing, tmp_path):
        """It is private from the start."""
        code = """
            import sys
            import boardlot as bl
            store = bl.EncryptedFileStore(sys.argv[1], "a passphrase")
            store.save("key", b"{}")
            print(store.load("key"))
        """
        environment = refusing("fchmod", "int file, mode_t mode", errno.EPERM)
        out, _ = run_python(code, tmp_path / "tokens", env=environment)
        assert out == "b'{}'\n" and (tmp_path / "tokens").stat().st_mode & 0o777 == 0o600

    def test_a_file_that_cannot_be_locked_says_so(self, refusing, tmp_path):
        code = """
            import sys
            import boardlot as bl
            try:
                bl.EncryptedFileStore(sys.argv[1], "a passphrase").save("key", b"{}")
            except bl.StoreError as error:
                print("refuses file locks" in str(error), "flock" in error.hint)
            limit = bl.RateLimit(5, name="x")
            try:
                bl.Client("http://127.0.0.1:9", max_retries=0, rate_limit=limit).server_time()
            except bl.StoreError as error:
                print("refuses file locks" in str(error), "flock" in error.hint)
        """
        environment = refusing("flock", "int file, int operation", errno.ENOLCK)
        out, _ = run_python(code, tmp_path / "tokens", env=environment)
        assert out == "True True\n" * 2
