"""A real proxy that requires a password, before a service with a private authority.

docs/proxies.md says what is shown here.
"""

import re
import socket
import subprocess
import time

import boardlot as bl
import pytest
from boardlot import doctor
from boardlot.cli.application import run

from ..support.certificates import authority
from ..support.proxy import Proxy
from ..support.system import need_program

USER, PASSWORD = "trader", "secret-word"
QUOTED = "secret%2Dword"
CONFIG = """
Port {port}
Listen 127.0.0.1
Timeout 60
MaxClients 50
BasicAuth {user} {password}
ConnectPort {service}
"""
VARIABLES = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"]


@pytest.fixture(scope="module")
def name():
    """A name of this machine that is not `localhost`: for that no proxy is used."""
    for candidate in (socket.gethostname(), "localhost.localdomain"):
        try:
            if socket.gethostbyname(candidate) == "127.0.0.1":
                return candidate
        except OSError:
            continue
    pytest.skip("this machine has no name for 127.0.0.1 beside localhost")


@pytest.fixture(scope="module")
def service(name):
    with (
        bl.Sandbox(seed=7) as sandbox,
        Proxy(
            int(sandbox.base_url.rpartition(":")[2]), authority().context((name,)), host=name
        ) as tls,
    ):
        yield tls.base_url


@pytest.fixture(scope="module")
def tinyproxy(service, tmp_path_factory):
    need_program("tinyproxy")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config = tmp_path_factory.mktemp("tinyproxy") / "tinyproxy.conf"
    of_service = service.rpartition(":")[2]
    # It compares the words of the header with those of its file.
    config.write_text(CONFIG.format(port=port, user=USER, password=PASSWORD, service=of_service))
    with subprocess.Popen(["tinyproxy", "-d", "-c", str(config)], stdout=subprocess.DEVNULL) as run:
        for _ in range(600):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"127.0.0.1:{port}"
        run.terminate()


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    for variable in VARIABLES:
        for spelled in (variable, variable.lower()):
            monkeypatch.delenv(spelled, raising=False)
    return monkeypatch


def client(service, **options):
    return bl.Client(service, **{"ca_file": authority().ca_file, "max_retries": 0, **options})


def test_a_url_with_name_and_password_is_accepted(service, tinyproxy):
    with client(service, proxy=f"http://{USER}:{QUOTED}@{tinyproxy}") as through:
        assert through.server_time().tzinfo is not None


def test_the_proxy_of_the_environment_is_used_only_where_it_is_asked_for(
    service, tinyproxy, environment
):
    environment.setenv("HTTPS_PROXY", f"http://{USER}:{QUOTED}@{tinyproxy}")
    assert client(service, proxy="environment").server_time().tzinfo is not None
    # Directly: the proxy, which this machine does not need, refuses nothing.
    assert client(service).server_time().tzinfo is not None


def test_a_missing_password_is_what_the_hint_is_about(service, tinyproxy):
    with pytest.raises(bl.TransportError, match="proxy authorization required") as caught:
        client(service, proxy=f"http://{tinyproxy}").server_time()
    assert "http://NAME:PASSWORD@HOST:PORT" in caught.value.hint


def test_a_wrong_password_is_what_the_hint_is_about(service, tinyproxy):
    # tinyproxy refuses it with 401, newer ones with 407; what it does not allow, with 403.
    with pytest.raises(bl.TransportError, match="tunnel error") as caught:
        client(service, proxy=f"http://{USER}:mistaken@{tinyproxy}").server_time()
    assert re.search("name and (a )?password", caught.value.hint)
    assert "in its URL" in caught.value.hint
    assert "mistaken" not in f"{caught.value!r}{caught.value.hint}"


def test_a_host_that_the_proxy_does_not_allow(tinyproxy, name):
    address = f"http://{USER}:{QUOTED}@{tinyproxy}"
    with pytest.raises(bl.TransportError, match="tunnel error: unsuccessful") as caught:
        client(f"https://{name}:9", proxy=address).server_time()
    assert "what the proxy allows" in caught.value.hint


def test_an_authority_that_was_not_given_is_what_the_hint_names(service, tinyproxy):
    address = f"http://{USER}:{QUOTED}@{tinyproxy}"
    with pytest.raises(bl.TransportError, match="UnknownIssuer") as caught:
        client(service, proxy=address, ca_file=None).server_time()
    assert "`ca_file=`" in caught.value.hint


def test_a_profile_keeps_the_way_to_the_service(service, tinyproxy, environment, tmp_path, capfd):
    environment.setenv("XDG_CONFIG_HOME", str(tmp_path))
    environment.setenv("HTTPS_PROXY", f"http://{USER}:{QUOTED}@{tinyproxy}")
    ca_file = str(authority().ca_file)
    words = ["profile", "add", "office", "--base-url", service, "--ca-file", ca_file]
    assert run([*words, "--proxy", "environment"]) == 0
    kept = (tmp_path / "boardlot" / "config.toml").read_text()
    assert 'proxy = "environment"' in kept and f'ca_file = "{ca_file}"' in kept
    assert PASSWORD not in kept and QUOTED not in kept
    assert bl.Client(profile="office").server_time().tzinfo is not None
    assert run(["--profile", "office", "time"]) == 0
    found = {finding.step: finding for finding in doctor.examine(profile="office")}
    assert found["proxy"].state == "ok" and "HTTPS_PROXY" in found["proxy"].detail
    assert found["TLS"].state == "ok" and found["service"].state == "ok"
    assert run([*words, "--replace", "--proxy", f"http://{USER}:{QUOTED}@{tinyproxy}"]) == 2
    assert QUOTED not in "".join(capfd.readouterr())
