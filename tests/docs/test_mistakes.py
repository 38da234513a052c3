"""Every row of docs/mistakes.md says what boardlot says. Other mistakes explain themselves."""

from __future__ import annotations

import ast
import asyncio
import gc
import inspect
import re
import shlex
import sys
import warnings
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import boardlot as bl
import pyarrow as pa
import pytest
import yaml
from inline_snapshot import snapshot

from ..support.words import named

PAGE = Path(__file__).parents[2] / "docs" / "mistakes.md"
SANDBOX = {"fills": 20}
CODE = re.compile(r"`([^`]+)`")


class Dividend(NamedTuple):
    """Whose date is not a time."""

    ex_date: datetime


class Row(NamedTuple):
    """A mistake, and the parts of the error, each with dots for what may differ."""

    mistake: str
    says: list[str]


def rows():
    found = []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("| `"):
            found.append(Row(CODE.findall(cells[0])[0], CODE.findall(cells[1])))
    return found


IN_PYTHON = [row for row in rows() if not row.mistake.startswith("boardlot ")]
IN_A_SHELL = [row for row in rows() if row.mistake.startswith("boardlot ")]


@pytest.fixture
def names(sandbox, tmp_path, monkeypatch):
    """The names that the snippets use, in a folder with the files that they name."""
    from boardlot import _core

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for name in ("live", "paper"):
        _core._save_profile(name, {"base_url": "https://api.example.com", "kind": "none"})
    (tmp_path / "public.pem").write_text(bl.generate_key().public_pem)
    ssh = "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n"
    (tmp_path / "id_ed25519").write_text(ssh)
    with sandbox.client() as closed:
        pass
    with sandbox.client() as client:
        spent = client.fills_history("281756", "HK")
        spent.all()
        names = {"bl": bl, "datetime": datetime, "sandbox": sandbox, "url": sandbox.base_url}
        names |= {
            "pa": pa,
            "yaml": yaml,
            "port": int(sandbox.base_url.rpartition(":")[2]),
            "client": client,
        }
        names |= {"Dividend": Dividend, "archive": bl.Archive(":memory:")}
        names |= {"async_client": sandbox.async_client(), "spent": spent, "closed": closed}
        yield {**names, "expired": bl.OAuth("client-17", store=bl.MemoryStore())}
        asyncio.run(names["async_client"].close())


def test_the_page_has_the_usual_mistakes():
    assert len(IN_PYTHON) >= 25 and len(IN_A_SHELL) >= 3
    assert len({row.mistake for row in rows()}) == len(rows())
    assert all(row.says for row in rows())


@pytest.mark.parametrize("row", IN_PYTHON, ids=lambda row: row.mistake)
def test_python_says_what_the_page_says(row, names, monkeypatch):
    if sys.platform == "win32" and "profile=" in row.mistake:
        pytest.skip("the configuration folder of POSIX")
    name, said, hint = error_of(row.mistake, names, monkeypatch)
    kind, _, text = row.says[0].partition(": ")
    assert (name, matches(text, said.replace("`", "'"))) == (kind, True), said
    assert all(matches(one, hint) for one in row.says[1:]), hint


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (
            lambda: bl.ApiKey("my-app-key", "kye.pem"),
            snapshot(
                "ConfigError: private_key kye.pem cannot be read: No such file or directory (os "
                "error N); expected the path of a private key file\n"
                "Check the path: a relative path starts at the working directory. If you do not "
                "have a key yet, `boardlot keygen FILE` generates one."
            ),
        ),
        (
            lambda: bl.Client("https://api.example.com/api/v1.0"),
            snapshot(
                "ConfigError: base_url is 'https://api.example.com/api/v1.0'; expected the "
                "address of the service without the path of an endpoint; did you mean "
                "'https://api.example.com'?\n"
                "Correct the argument; nothing was sent."
            ),
        ),
        (
            lambda: bl.Client("http://api.example.com"),
            snapshot(
                "ConfigError: base_url is 'http://api.example.com'; expected an https:// URL "
                "(http:// is only for a loopback address such as http://127.0.0.1:8080); did you "
                "mean 'https://api.example.com'?\n"
                "Correct the argument; nothing was sent."
            ),
        ),
        (
            lambda: bl.Client(),
            snapshot(
                "ConfigError: base_url is missing; pass base_url or profile: no environment "
                "variable BOARDLOT_* is read\n"
            ),
        ),
        (
            lambda: bl.Client(profile="livee"),
            snapshot(
                "ConfigError: profile is 'livee'; expected a profile of "
                "FOLDER/boardlot/config.toml: live, paper; did you mean 'live'?\n"
                "Correct the argument; nothing was sent."
            ),
        ),
        (
            lambda port: bl.Sandbox(port=port),
            snapshot(
                "ConfigError: the sandbox cannot listen on 127.0.0.1:PORT: Address already in use"
                " (os error N); pass another port, or 0 for a free one\n"
            ),
        ),
        (
            lambda client: client.ipo_list("HK"),
            snapshot(
                "ConfigError: ipo_list: market is 'HK'; expected one of hk, us, cn, sg, my; did "
                "you mean 'hk'?\n"
                "Correct the argument; nothing was sent."
            ),
        ),
        (
            lambda client: client.trading_days("hk", "2026-01-05", "2026-01-09"),
            snapshot(
                "ConfigError: trading_days: market is 'hk'; expected a market prefix of 1 to 4 "
                "capital letters, such as 'HK' (boardlot's own rule); did you mean 'HK'?\n"
                "Correct the argument; nothing was sent."
            ),
        ),
        (
            lambda client: client.dividends("hk.00700"),
            snapshot(
                "ConfigError: dividends: symbol is 'hk.00700'; expected {market}.{code}, such as "
                "'HK.00700': 1 to 8 capital letters, and letters, digits and . _ - only "
                "(boardlot's own rule); did you mean 'HK.00700'?\n"
                "Correct the argument; nothing was sent."
            ),
        ),
        (
            lambda client: client.dividends("0700.HK"),
            snapshot(
                "ConfigError: dividends: symbol is '0700.HK'; expected {market}.{code}, such as "
                "'HK.00700': 1 to 8 capital letters, and letters, digits and . _ - only "
                "(boardlot's own rule); did you mean 'HK.00700'?\n"
                "Correct the argument; nothing was sent."
            ),
        ),
        (
            lambda client: client.dividends("HK00700"),
            snapshot(
                "ConfigError: dividends: symbol is 'HK00700'; expected {market}.{code}, such as "
                "'HK.00700'; did you mean 'HK.00700'?\n"
                "Correct the argument; nothing was sent."
            ),
        ),
        (
            lambda client: client.dividends("AAPL"),
            snapshot(
                "ConfigError: dividends: symbol is 'AAPL'; expected {market}.{code}, such as "
                "'HK.00700'; did you mean 'US.AAPL'?\n"
                "Correct the argument; nothing was sent."
            ),
        ),
        (
            lambda client: client.dividends("US.aapl"),
            snapshot(
                "InvalidSymbol: dividends: 'US.aapl' is not a known symbol (code -7, "
                "invalid_symbol, HTTP 200)\n"
                "Did you mean 'US.AAPL'? Verify that the code exists and is written as "
                "{market}.{code}."
            ),
        ),
        (
            lambda client: client.fills_history("281756", "HK", start="2026/01/05"),
            snapshot(
                "ConfigError: fills_history: start is '2026/01/05'; expected a date such as "
                "'2026-01-05' (midnight UTC), ISO 8601 with an offset such as "
                "'2026-01-05T09:30:00+08:00', a datetime with a time zone, or microseconds since "
                "1970; did you mean '2026-01-05'?\n"
                "Correct the argument; nothing was sent."
            ),
        ),
        (
            lambda client: client.fills_history("281756", "HK", start="2026-01-05T09:30"),
            snapshot(
                "ConfigError: fills_history: start is '2026-01-05T09:30'; expected a date such as"
                " '2026-01-05' (midnight UTC), ISO 8601 with an offset such as "
                "'2026-01-05T09:30:00+08:00', a datetime with a time zone, or microseconds since "
                "1970; without an offset it could be a time of any zone: add Z or +08:00\n"
                "Correct the argument; nothing was sent."
            ),
        ),
        (
            lambda client: client.fills_history("281756", "HK", start=20260105),
            snapshot(
                "ConfigError: fills_history: start is 20260105; expected microseconds since 1970,"
                " by boardlot's own rule for a time in the years 1990 to 2100; did you mean "
                "'2026-01-05'?\n"
                "Correct the argument; nothing was sent."
            ),
        ),
        (
            lambda client: client.trading_days("HK", "2026-02-01", "2026-01-01"),
            snapshot(
                "ConfigError: trading_days: end is '2026-01-01'; expected a date on or after "
                "start, which is '2026-02-01' (boardlot's own rule)\n"
                "Correct the argument; nothing was sent."
            ),
        ),
        (
            lambda client: client.fills_history("281756", "HK", page_size=51),
            snapshot("""\
ConfigError: fills_history: page_size is 51; expected an integer from 10 to 50
Correct the argument; nothing was sent.\
"""),
        ),
        (
            lambda async_client: async_client.fills_history("281756", "HK").to_polars().head(),
            snapshot("AttributeError: 'coroutine' object has no attribute 'head'\n"),
        ),
        (
            lambda closed: closed.dividends("HK.00700"),
            snapshot("""\
ConfigError: this client is closed; create a new one
Make calls before `close()`: within the client's `with` block, if it has one.\
"""),
        ),
        (
            lambda client: client.dividend("HK.00700"),
            snapshot(
                "AttributeError: 'Client' object has no attribute 'dividend'; did you mean "
                "'dividends'?\n"
            ),
        ),
        (
            lambda: bl.ConfigEror,
            snapshot(
                "AttributeError: module 'boardlot' has no attribute 'ConfigEror'; did you mean "
                "'ConfigError'?\n"
            ),
        ),
        (
            lambda url: bl.Client(url, time_out=3),
            snapshot(
                "TypeError: Client() got an unexpected keyword argument 'time_out'; did you mean "
                "'timeout'?\n"
            ),
        ),
        (
            lambda sandbox: sandbox.client(nonsense=True),
            snapshot("TypeError: Client() got an unexpected keyword argument 'nonsense'\n"),
        ),
        (
            lambda client: client.fills_history("281756", "HK", resume="fills.checkpoint"),
            snapshot(
                "ConfigError: fills_history: resume is 'fills.checkpoint', not a checkpoint; pass"
                " what checkpoint() returned\n"
                "If it is in a file, pass the content of the file."
            ),
        ),
        (
            lambda client: client.fills_history("281756", "HK", code=["HK.00700", "HK.00005"]),
            snapshot(
                "ConfigError: fills_history: code is a list; expected {market}.{code}, such as "
                "'HK.00700'\n"
                "Pass one value: for several, call once for each."
            ),
        ),
        (
            lambda client: client.dividends("HK.00700").as_type(Dividend),
            snapshot(
                'ProtocolError: ex_date of record 0 is "2026/02/08"; expected datetime for '
                "Dividend.ex_date: annotate it as 'date', or as 'str' to keep what the service "
                "sent\n"
                "Convert the records in another way; the response was read without error."
            ),
        ),
        (
            lambda archive: archive.sql("select * from fill"),
            snapshot(
                "ConfigError: the query failed: no such table: fill; did you mean 'fills'?\n"
                "The views are coverage_of_fills, crypto_orders, crypto_orders_history, "
                "dividends, dividends_history, fills, fills_history, futures, futures_history, "
                "ipos, ipos_history, plates, plates_history, sim_orders, sim_orders_history, "
                "sim_positions, sim_positions_history."
            ),
        ),
        (
            lambda archive: archive.export("fills", "fills.csv"),
            snapshot(
                "ConfigError: path is 'fills.csv'; expected a Parquet file, such as "
                "'fills.parquet'\n"
                "Only Parquet is written. `boardlot archive sql`, with `--out`, writes the result"
                " of a query in other formats."
            ),
        ),
        (
            lambda sandbox, url: bl.Client(url, auth=sandbox.api_key),
            snapshot(
                "ConfigError: auth is of type method; expected an ApiKey, a BearerToken or an "
                "OAuth: call it, as in auth=sandbox.api_key()\n"
                "Correct the argument; nothing was sent."
            ),
        ),
        (
            lambda client: client.ipo_calendar()["hk"],
            snapshot(
                "TypeError: a calendar is indexed by integers or slices, not str; the rows of a "
                "market are [row for row in calendar if row['market'] == 'hk']\n"
            ),
        ),
        (
            lambda client: client.fills_history("281756", "HK", start=1.79e15),
            snapshot(
                "ConfigError: fills_history: start is 1790000000000000.0; expected a date such as"
                " '2026-01-05' (midnight UTC), ISO 8601 with an offset such as "
                "'2026-01-05T09:30:00+08:00', a datetime with a time zone, or microseconds since "
                "1970; did you mean 1790000000000000?\n"
                "Correct the argument; nothing was sent."
            ),
        ),
        (
            lambda client: client.dividends("HK.00700").to_pandas(decimals=float),
            snapshot(
                "TypeError: decimals is of type type; expected 'float64', 'decimal' or 'string'\n"
            ),
        ),
        (
            lambda client, url: client.request("GET", url + "/api/v1.0/server-time"),
            snapshot(
                "ConfigError: path is 'http://127.0.0.1:PORT/api/v1.0/server-time'; expected an "
                "absolute path without a query, fragment, backslash, control character or dot "
                "segment (boardlot's own rule); leave out the address, which is the client's\n"
                "Correct the argument; nothing was sent."
            ),
        ),
        (
            lambda url: bl.Client(url, proxy={"https": "http://proxy:3128"}),
            snapshot(
                "ConfigError: proxy is of type dict; expected a URL such as "
                "'http://proxy.example.com:3128', or 'environment'\n"
                "Correct the argument; nothing was sent."
            ),
        ),
        (
            lambda url: bl.Client(url, on_response=lambda request, response: None),
            snapshot(
                "ConfigError: on_response is a function that cannot be called with one argument; "
                "expected a function of one argument, the event\n"
                "Correct the argument; nothing was sent."
            ),
        ),
        (
            lambda: bl.DateRange("end"),
            snapshot(
                "ConfigError: DateRange takes exactly one of next and before, such as "
                "before='data_date'\n"
            ),
        ),
        (
            lambda: bl.Endpoint("flow", "GET", "/api/{symbol}", record={"in_flow": float}),
            snapshot(
                "ConfigError: record['in_flow'] is of type type; expected a text: one of text, "
                "integer, number, flag, decimal, percent, seconds, millis, micros, date, object; "
                "did you mean 'number', or 'decimal' for a text?\n"
                "Correct the argument; nothing was sent."
            ),
        ),
        (
            lambda: bl.Endpoint("flow", "GET", "/api/{symbol}", record={"name": "str"}),
            snapshot(
                "ConfigError: Endpoint 'flow': record.name is 'str'; expected one of text, "
                "integer, number, flag, decimal, percent, seconds, millis, micros, date, object; "
                "did you mean 'text'?\n"
            ),
        ),
        (
            lambda archive: archive.sql("select * from fills where code = %s", ["HK.00700"]),
            snapshot("""\
ConfigError: the query failed: near "%": syntax error
The mark of a parameter is ? in SQLite, where %s is PostgreSQL's.\
"""),
        ),
    ],
)
def test_mistakes_that_are_on_no_page_explain_themselves(call, expected, names, tmp_path):
    sent = len(names["sandbox"].requests)
    arguments = {name: names[name] for name in inspect.signature(call).parameters}
    name, said, hint = raised_by(lambda: call(**arguments))
    assert name != "ConfigError" or len(names["sandbox"].requests) == sent
    text = named(f"{name}: {said}\n{hint}", FOLDER=tmp_path, PORT=names["port"])
    # Each system has numbers of its own.
    assert re.sub(r"os error \d+", "os error N", text) == expected


def error_of(mistake, names, monkeypatch):
    """The class, the text and the hint of the error that code raises."""
    code = compile(mistake, "<mistake>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    if "trio." in mistake:
        names["trio"] = pytest.importorskip("trio")
    if '"wrong"' in mistake:
        bl.EncryptedFileStore("tokens", "right").save("key", b"value")
    with monkeypatch.context() as patched:
        if "to_pandas" in mistake:
            patched.setitem(sys.modules, "pandas", None)
        return raised_by(lambda: eval(code, names))


def raised_by(call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # A coroutine that is never awaited is the mistake.
        found = said_by(call)
        gc.collect()
    return found


def said_by(call):
    try:
        value = call()
        if inspect.iscoroutine(value):
            asyncio.run(value)
    except Exception as error:
        return type(error).__name__, str(error), getattr(error, "hint", "")
    raise AssertionError("no error was raised")


def test_the_mistakes_without_an_error_have_none(names):
    pd, client = pytest.importorskip("pandas"), names["client"]
    records = client.fills_history("281756", "HK").all(max_items=2)
    one, other = records
    for frame in (
        pd.DataFrame(records),
        pd.DataFrame(client.fills_history("281756", "HK")).head(2),
    ):
        assert frame["qty"].sum() == one["qty"] + other["qty"]
    assert records.to_pandas()["qty"].sum() == float(one["qty"]) + float(other["qty"])
    assert client.fills_history("281756", "HK", code="HK.0700").all() == []


@pytest.mark.parametrize("row", IN_A_SHELL, ids=lambda row: row.mistake)
def test_the_command_says_what_the_page_says(row, names, capsys):
    from boardlot.cli import main

    assert main(shlex.split(row.mistake)[1:]) == 2
    seen = capsys.readouterr()
    assert not seen.out
    for part in row.says:
        assert part in seen.err


def matches(pattern, text):
    """True if it is the whole text, with anything in place of the dots."""
    parts = ".*".join(map(re.escape, pattern.split("…")))
    return re.fullmatch(parts, text, re.DOTALL) is not None
