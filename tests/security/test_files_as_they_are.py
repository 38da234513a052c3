"""Files and paths as users have them: other layouts, marks and encryptions; secrets for paths."""

import codecs
import os
import ssl
import subprocess
import textwrap
from pathlib import Path

import boardlot as bl
import pytest
from boardlot import _core
from boardlot._support.credentials.profiles import Passphrase
from boardlot.cli import main
from cryptography.hazmat.primitives.serialization import Encoding

from ..support.certificates import CERTIFICATE, Authority, authority
from ..support.clients import client_of
from ..support.processes import run_python
from ..support.proxy import Proxy
from ..support.vectors import table

PAYLOAD = b"five lines"


@pytest.fixture(scope="module")
def pem():
    return bl.generate_key().private_pem


@pytest.fixture
def home(tmp_path, monkeypatch):
    folder = tmp_path / "home of mine"
    folder.mkdir()
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(folder))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    return folder


def private(path, content):
    path.write_bytes(content)
    path.chmod(0o600)
    return path


def laid_out(pem, width):
    first, *body, last = pem.strip().splitlines()
    return "\n".join([first, *textwrap.wrap("".join(body), width), last])


LAYOUTS = {
    "a byte order mark": lambda pem: "\ufeff" + pem,
    "CRLF": lambda pem: pem.replace("\n", "\r\n"),
    "five columns": lambda pem: laid_out(pem, 5),
    "one line": lambda pem: " ".join(pem.split("\n")),
    "no white space": lambda pem: laid_out(pem, 10_000).replace("\n", ""),
    "empty lines": lambda pem: pem.replace("\n", "\n\n \t\n"),
    "text around": lambda pem: f"Bag Attributes\n  name: é\n{pem}the end",
    "indented": lambda pem: textwrap.indent(pem, "\t  "),
    "after a certificate": lambda pem: CERTIFICATE.read_text().strip() + pem,
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_key_is_read_in_every_layout(layout, pem, tmp_path):
    signature = bl.ApiKey("id", pem).sign(PAYLOAD)
    rsa = bl.generate_key("RSA-SHA256", bits=2048).private_pem if layout == "one line" else pem
    for given in (pem, rsa):
        text = LAYOUTS[layout](given)
        path = private(tmp_path / "key.pem", text.encode())
        for form in (text, text.encode(), path, str(path)):
            expected = signature if given == pem else bl.ApiKey("id", given).sign(PAYLOAD)
            assert bl.ApiKey("id", form).sign(PAYLOAD) == expected
    latin = f"Bag Attributes: \xe9\n{pem}".encode("latin-1")
    assert bl.ApiKey("id", latin).sign(PAYLOAD) == signature


def openssl(*arguments, stdin=None):
    done = subprocess.run(
        ["openssl", *arguments], input=stdin, capture_output=True, check=True, timeout=90
    )
    return done.stdout


READ = [
    ["-v2", "aes-256-cbc", "-v2prf", "hmacWithSHA1"],
    ["-v2", "aes-128-cbc", "-v2prf", "hmacWithSHA512"],
    ["-v2", "des3", "-v2prf", "hmacWithSHA1"],
    ["-scrypt", "-scrypt_N", "1024", "-scrypt_r", "8", "-scrypt_p", "1"],
]
NAMED = [
    (["-v1", "PBE-SHA1-3DES"], "PBE-SHA1-3DES"),
    (["-v2", "camellia-256-cbc"], "PBES2 with an unsupported cipher"),
    (["-v2", "aes-256-cbc", "-v2prf", "hmacWithSHA512-256"], "PBES2 with an unsupported cipher"),
]


@pytest.mark.parametrize("options", READ, ids=" ".join)
def test_a_key_is_read_in_every_encryption_of_openssl_1_0_and_later(options, pem):
    locked = openssl("pkcs8", "-topk8", "-passout", "pass:pw", *options, stdin=pem.encode())
    key = bl.ApiKey("id", locked, password="pw")
    assert key.sign(PAYLOAD) == bl.ApiKey("id", pem).sign(PAYLOAD)
    with pytest.raises(bl.ConfigError, match="the password is wrong"):
        bl.ApiKey("id", locked, password="other")


@pytest.mark.parametrize("options, name", NAMED, ids=lambda value: str(value))
def test_an_encryption_that_is_not_read_is_named_with_the_command_that_converts_it(
    options, name, pem, tmp_path
):
    old, new = tmp_path / "old.pem", tmp_path / "new.pem"
    old.write_bytes(openssl("pkcs8", "-topk8", "-passout", "pass:pw", *options, stdin=pem.encode()))
    with pytest.raises(bl.ConfigError, match=name) as caught:
        bl.ApiKey("id", old.read_bytes(), password="pw")
    assert "password is wrong" not in str(caught.value)
    command = str(caught.value).partition("`")[2].partition("`")[0]
    words = command.replace("FILE", str(old)).replace("NEW", str(new)).split()
    openssl(*words[1:], "-passin", "pass:pw", "-passout", "pass:pw")
    assert bl.ApiKey("id", new.read_bytes(), password="pw").key_id == "id"


def parts_of(secret):
    return [part for part in secret.replace("\n", "").split("/") if len(part) > 3]


def shown_by(error):
    return f"{error!r} {error} {getattr(error, 'hint', '')}"


# What does not look like a path may be the secret.
@pytest.mark.parametrize("secret", table("hostile")["secrets"])
def test_a_secret_in_place_of_a_path_is_not_shown(secret, tmp_path, monkeypatch, home):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    makers = [
        lambda: bl.ApiKey("id", secret),
        lambda: bl.ApiKey("id", Path(secret)),
        lambda: bl.ApiKey("id", str(Path(secret).absolute())),
        lambda: bl.Client("https://api.example.com", ca_file=secret),
        lambda: Passphrase("tokens", file=secret)(),
        lambda: Passphrase("tokens", command=(secret,))(),
    ]
    for make in makers:
        with pytest.raises((bl.ConfigError, bl.StoreError)) as caught:
            make()
        for part in parts_of(secret):
            assert part not in shown_by(caught.value)
    with pytest.raises(bl.ConfigError, match="API secret"):
        bl.ApiKey("id", secret)


def test_a_secret_in_a_profile_and_on_the_command_line_is_not_shown(tmp_path):
    folder = tmp_path / "boardlot"
    folder.mkdir()
    auth = 'auth = { kind = "api_key", key_id = "id", private_key = "hunter22" }'
    (folder / "config.toml").write_text(
        f'[profiles.a]\nbase_url = "http://127.0.0.1:1"\n{auth}\n', encoding="utf-8"
    )
    environment = {"XDG_CONFIG_HOME": str(tmp_path)}
    for arguments in (
        ["--profile", "a", "time"],
        ["--base-url", "http://127.0.0.1:1", "--key-id", "i", "--key-file", "hunter22", "time"],
        [
            *("--base-url", "http://127.0.0.1:1", "--client-id", "c", "--store", "tokens.enc"),
            *("--passphrase-file", "hunter22", "time"),
        ],
    ):
        code = f"from boardlot.cli import main; main({arguments!r})"
        out, err = run_python(code, env=environment)
        assert "hunter22" not in out + err and err


# All certificates of a file, or a reason.
def other_authority(key):
    return Authority(key).certificate().public_bytes(Encoding.PEM).decode()


@pytest.mark.parametrize(
    "join",
    [
        lambda first, last: first.strip() + last,
        lambda first, last: first.strip() + last.strip(),
        lambda first, last: "\ufeff" + first + last,
        lambda first, last: (first + last).replace("\n", "\r\n"),
        lambda first, last: laid_out(first, 10_000) + laid_out(last, 76),
        lambda first, last: f"# mine\n{first}\n# theirs é\n{last}-- the end",
        lambda first, last: first + bl.generate_key().public_pem.strip() + last,
        lambda first, last: first.strip() + last.replace(" CERTIFICATE", " X509 CERTIFICATE"),
    ],
)
def test_every_certificate_of_a_file_is_trusted(join, tmp_path, server):
    own, other = CERTIFICATE.read_text(), other_authority(2)
    for first, last in ((own, other), (other, own)):
        path = tmp_path / "ca.pem"
        path.write_text(join(first, last), encoding="utf-8", newline="")
        with Proxy(server.port, authority().context()) as relay:
            address = f"https://127.0.0.1:{relay.port}"
            with bl.Client(address, ca_file=path, max_retries=0) as client:
                assert client.server_time()


CUT = "-----BEGIN CERTIFICATE-----\nMIIB"


@pytest.mark.parametrize(
    "wrong, reason",
    [
        (lambda own: own + own.replace("CERTIFICATE", "TRUSTED CERTIFICATE"), "openssl x509"),
        (lambda own: own + own.replace("CERTIFICATE", "PKCS7"), "openssl pkcs7"),
        (lambda own: own + CUT, "END CERTIFICATE"),
        (lambda own: CUT + own, "END CERTIFICATE"),
        (lambda own: own + f"{CUT}!\n-----END CERTIFICATE-----", "not Base64"),
        (lambda own: own + f"{CUT}\n-----END CERTIFICATE-----", "invalid certificate"),
        (lambda own: "", "no certificate"),
        (lambda own: bl.generate_key().public_pem, "no certificate"),
    ],
)
def test_a_certificate_that_cannot_be_trusted_is_refused_with_the_reason(wrong, reason, tmp_path):
    path = tmp_path / "ca.pem"
    path.write_text(wrong(CERTIFICATE.read_text()))
    with pytest.raises(bl.ConfigError, match=reason) as caught:
        bl.Client("https://api.example.com", ca_file=path)
    assert str(caught.value).startswith(f"ca_file {path} ")


def test_a_certificate_that_signs_itself_has_its_own_hint(tmp_path, server):
    """Of an authority (CA:TRUE): given as `ca_file`, it is no server's for the library."""
    openssl(
        *("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"),
        *("-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "30"),
        *("-addext", "basicConstraints=critical,CA:TRUE"),
        *("-keyout", str(tmp_path / "key.pem"), "-out", str(tmp_path / "own.pem")),
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "own.pem", tmp_path / "key.pem")
    with (
        Proxy(server.port, context) as relay,
        client_of(relay, ca_file=tmp_path / "own.pem") as client,
        pytest.raises(bl.TransportError) as caught,
    ):
        client.server_time()
    assert "CA:TRUE" in caught.value.hint and "pass `ca_file=" not in caught.value.hint


# `~` in every path.
def test_a_tilde_is_the_home_folder_in_every_path(home, pem, boardlot_sandbox, monkeypatch):
    sandbox = boardlot_sandbox
    private(home / "key.pem", pem.encode())
    (home / "ca.pem").write_bytes(CERTIFICATE.read_bytes())
    kline = '[kline]\nmethod = "GET"\npath = "/api/v1.0/x"\n'
    (home / "endpoints.toml").write_text("\ufeff" + kline, encoding="utf-8")
    private(home / "secret", codecs.BOM_UTF8 + b"a passphrase\r\n")
    assert bl.ApiKey("id", "~/key.pem").key_id == bl.ApiKey("id", Path("~/key.pem")).key_id
    store = bl.EncryptedFileStore("~/tokens", "a passphrase")
    store.save("key", b"value")
    assert store.path == home / "tokens"
    assert bl.EncryptedFileStore(Path("~") / "tokens", "a passphrase").load("key") == b"value"
    assert Passphrase("tokens", file="~/secret")() == "a passphrase"
    assert list(bl.load_endpoints("~/endpoints.toml")) == ["kline"]
    bl.Client("https://api.example.com", ca_file="~/ca.pem").close()
    bl.OAuthApp(
        "https://api.example.com",
        "client-1",
        redirect_uri="https://app.example.com/callback",
        store=bl.MemoryStore(),
        ca_file="~/ca.pem",
    )
    with bl.Recorder("~/traffic.jsonl") as recorder, sandbox.client(cassette=recorder) as client:
        client.server_time()
        with bl.Archive("~/archive.db") as archive:
            archive.update(client, ipos=["hk"])
            archive.export("ipos", "~/ipos.parquet")
    traffic = home / "traffic.jsonl"
    traffic.write_bytes(codecs.BOM_UTF8 + traffic.read_bytes())
    with bl.Client(cassette=bl.Replay("~/traffic.jsonl")) as client:
        assert client.server_time()
    folder = home / "config" / "boardlot"
    folder.mkdir(parents=True)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    auth = 'auth = { kind = "api_key", key_id = "id", private_key = "~/key.pem" }'
    more = 'ca_file = "~/ca.pem"\nendpoints = "~/endpoints.toml"\n'
    text = f'\ufeff[profiles.a]\nbase_url = "https://api.example.com"\n{more}{auth}\n'
    private(folder / "config.toml", text.encode())
    bl.Client(profile="a").close()
    entry = _core._profile("a")
    assert entry["private_key"] == home / "key.pem" and entry["endpoints"].parent == home
    _core._set_default_profile("a")
    assert _core._profiles() == (["a"], "a"), "the file is changed in spite of its mark"
    assert {path.name for path in home.iterdir()} >= {"archive.db", "ipos.parquet", "tokens"}
    assert not list(Path.cwd().iterdir()), "nothing is made in a folder named ~"


def test_a_tilde_on_the_command_line_is_the_home_folder(home):
    assert main(["keygen", "~/made.pem"]) == 0
    assert main(["archive", "status", "~/none.db"]) == 2
    assert (home / "made.pem").exists() and not list(Path.cwd().iterdir())


@pytest.mark.skipif(os.name == "nt", reason="paths are text there")
def test_a_path_with_undecodable_bytes_is_a_path_as_text_too(pem, tmp_path):
    path = private(tmp_path / "key-\udcff.pem", pem.encode())
    assert bl.ApiKey("id", str(path)).key_id == bl.ApiKey("id", path).key_id


def test_nothing_is_read_or_written_in_the_encoding_of_the_locale(tmp_path):
    code = """
import sys, boardlot as bl
with bl.Sandbox() as sandbox, sandbox.client() as client, bl.Archive(sys.argv[1]) as archive:
    archive.update(client, ipos=["hk"], max_age=__import__("datetime").timedelta(1))
    archive.get(client, "ipos", "hk", max_age=__import__("datetime").timedelta(1))
    archive.export("ipos", sys.argv[1] + ".parquet")
"""
    options = {"PYTHONWARNDEFAULTENCODING": "1", "PYTHONWARNINGS": "error::EncodingWarning"}
    run_python(code, tmp_path / "a.db", env=options)
