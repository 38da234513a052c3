"""Promise 21, and docs/proxies.md: a real proxy that requires a password, before a service with a
private authority."""

import re
import socket
import subprocess

import boardlot as bl
import pytest
from boardlot import doctor
from boardlot.cli.application import run

from ..support.addresses import held_port, port_of
from ..support.callbacks import listens
from ..support.certificates import authority
from ..support.proxy import Proxy
from ..support.system import need_program
from ..support.threads import wait_until

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
    with bl.Sandbox(seed=7) as sandbox:
        context = authority().context((name,))
        with Proxy(port_of(sandbox.base_url), context, host=name) as tls:
            yield tls.base_url


@pytest.fixture(scope="module")
def tinyproxy(service, tmp_path_factory):
    need_program("tinyproxy")
    config = tmp_path_factory.mktemp("tinyproxy") / "tinyproxy.conf"
    command = ["tinyproxy", "-d", "-c", str(config)]
    with held_port() as port:
        # It compares the words of the header with those of its file.
        words = {"port": port, "user": USER, "password": PASSWORD, "service": port_of(service)}
        config.write_text(CONFIG.format(**words))
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as running:
            wait_until(lambda: listens(port), "tinyproxy")
            yield f"127.0.0.1:{port}"
            running.terminate()


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    for variable in VARIABLES:
        for spelled in (variable, variable.lower()):
            monkeypatch.delenv(spelled, raising=False)
    return monkeypatch


def server_time(service, **options):
    options = {"ca_file": authority().ca_file, "max_retries": 0, **options}
    with bl.Client(service, **options) as client:
        assert client.server_time().tzinfo is not None


def test_the_proxy_is_used_with_its_password_from_the_option_or_the_environment(
    service, tinyproxy, environment
):
    address = f"http://{USER}:{QUOTED}@{tinyproxy}"
    server_time(service, proxy=address)
    environment.setenv("HTTPS_PROXY", address)
    server_time(service, proxy="environment")
    # Directly: the proxy, which this machine does not need, refuses nothing.
    server_time(service)


@pytest.mark.parametrize(
    ("user", "port", "options", "said", "hint"),
    [
        ("", None, {}, "proxy authorization required", "http://NAME:PASSWORD@HOST:PORT"),
        # tinyproxy refuses it with 401, newer ones with 407; what it does not allow, with 403.
        (f"{USER}:mistaken@", None, {}, "tunnel error", "name and (a )?password.*URL"),
        (f"{USER}:{QUOTED}@", 9, {}, "tunnel error: unsuccessful", "hosts that the proxy allows"),
        (f"{USER}:{QUOTED}@", None, {"ca_file": None}, "UnknownIssuer", "`ca_file=`"),
    ],
    ids=["no password", "wrong password", "another port", "unknown authority"],
)
def test_what_the_proxy_refuses_is_what_the_hint_is_about(
    service, tinyproxy, name, user, port, options, said, hint
):
    address = f"https://{name}:{port}" if port else service
    with pytest.raises(bl.TransportError, match=said) as caught:
        server_time(address, proxy=f"http://{user}{tinyproxy}", **options)
    assert re.search(hint, caught.value.hint)
    assert "mistaken" not in f"{caught.value!r}{caught.value.hint}"


def test_a_profile_keeps_the_way_to_the_service(service, tinyproxy, environment, tmp_path, capfd):
    environment.setenv("XDG_CONFIG_HOME", str(tmp_path))
    environment.setenv("HTTPS_PROXY", f"http://{USER}:{QUOTED}@{tinyproxy}")
    ca_file = str(authority().ca_file)
    words = ["profile", "add", "office", "--base-url", service, "--ca-file", ca_file]
    assert run([*words, "--proxy", "environment"]) == 0
    kept = (tmp_path / "boardlot" / "config.toml").read_text()
    assert 'proxy = "environment"' in kept and f'ca_file = "{ca_file}"' in kept
    assert PASSWORD not in kept and QUOTED not in kept
    assert run(["--profile", "office", "time"]) == 0
    found = {finding.step: finding for finding in doctor.examine(profile="office")}
    assert found["proxy"].state == "ok" and "HTTPS_PROXY" in found["proxy"].detail
    assert found["TLS"].state == "ok" and found["service"].state == "ok"
    assert run([*words, "--replace", "--proxy", f"http://{USER}:{QUOTED}@{tinyproxy}"]) == 2
    assert QUOTED not in "".join(capfd.readouterr())
