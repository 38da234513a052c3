"""Every row of docs/mistakes.md: boardlot says what it says. Other mistakes explain themselves."""

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

from ..support.words import assert_transcript, named

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


def test_mistakes_that_are_on_no_page_explain_themselves(names, tmp_path, monkeypatch):
    def refusal(call):
        sent = len(names["sandbox"].requests)
        name, said, hint = error_of(call, names, monkeypatch)
        assert name != "ConfigError" or len(names["sandbox"].requests) == sent, call
        return named(f"{name}: {said}\n{hint}", FOLDER=tmp_path, PORT=names["port"])

    assert_transcript(Path(__file__).with_name("refusals") / "mistakes.txt", refusal)


def error_of(mistake, names, monkeypatch):
    """The class, the text and the hint of the error that code raises."""
    code = compile(mistake, "<mistake>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    if "trio." in mistake:
        names["trio"] = pytest.importorskip("trio")
    if '"wrong"' in mistake:
        bl.EncryptedFileStore("tokens", "right").save("key", b"value")
    with monkeypatch.context() as patched, warnings.catch_warnings():
        if "to_pandas" in mistake:
            patched.setitem(sys.modules, "pandas", None)
        warnings.simplefilter("ignore")  # A coroutine that is never awaited is the mistake.
        found = raised_by(code, names)
        gc.collect()
    return found


def raised_by(code, names):
    try:
        value = eval(code, names)
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
