"""The API pages: each docstring names its parameters and errors, and its example runs."""

import doctest
import importlib
import inspect
import re
from datetime import timedelta
from decimal import Decimal
from enum import EnumMeta
from http.client import HTTPResponse
from typing import NamedTuple

import boardlot as bl
import pytest
from boardlot._endpoints import ENDPOINTS

from ..support.printed import printed_by
from .test_pages import DOCS, api, close

# A name of a page, with the options below it.
NAMED = re.compile(r"^::: (boardlot\.[\w.]+)$((?:\n {4}.*)*)", re.MULTILINE)
# Modules that an example needs besides its own.
NEEDED = {
    "boardlot.calendar": "icalendar",
    "boardlot.dask": "distributed",
    "boardlot.plots": "matplotlib",
    "boardlot.polars": "polars",
}
# pytest calls it.
FIXTURE = "boardlot.pytest_plugin.boardlot_sandbox"
RAISE_NOTHING = {
    *("boardlot.ApiKey.public_key_pem", "boardlot.ApiKey.sign", "boardlot.LoginFlow.cancel"),
    *(f"boardlot.MemoryStore.{name}" for name in ("delete", "load", "save")),
    *("boardlot.otel.Instrumentor.instrument", "boardlot.otel.Instrumentor.uninstrument"),
    *(
        "boardlot.openapi",
        "boardlot.Records.copy",
        "boardlot.signature_payload",
    ),
}


METHODS = {endpoint.method for endpoint in ENDPOINTS}


class Shown(NamedTuple):
    path: str
    thing: object
    owner: type | None = None

    @property
    def text(self):
        return inspect.getdoc(self.thing) or ""

    @property
    def page(self):
        """It as the API pages show it."""
        return api()[self.path.removeprefix("boardlot.")]

    @property
    def parameters(self):
        if isinstance(self.thing, EnumMeta):
            return []
        try:
            parameters = inspect.signature(self.thing).parameters.values()
        except ValueError:
            return []
        variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        return [p.name for p in parameters if p.kind not in variadic and p.name != "self"]


def shown():
    """Every class, method and function of the API pages whose library is installed."""
    for page in sorted((DOCS / "api").glob("*.md")):
        for path, options in NAMED.findall(page.read_text(encoding="utf-8")):
            try:
                thing = resolved(path)
            except ImportError:  # A library that is not installed.
                continue
            if inspect.isclass(thing):
                yield Shown(path, thing)
                for name in () if "members: false" in options else dir(thing):
                    if is_public_method(thing, name):
                        yield Shown(f"{path}.{name}", getattr(thing, name), thing)
            elif inspect.isroutine(thing) and path != FIXTURE:
                yield Shown(path, thing)


def resolved(path):
    try:
        return importlib.import_module(path)
    except ImportError as error:
        if not path.startswith(error.name or path + "."):  # Of a library.
            raise
    parent, _, name = path.rpartition(".")
    return getattr(resolved(parent), name)


def is_public_method(kind, name):
    defined = next((base for base in kind.__mro__ if name in vars(base)), object)
    in_package = defined.__module__.startswith("boardlot")
    return in_package and not name.startswith("_") and callable(getattr(kind, name))


def parametrized(found):
    return pytest.mark.parametrize("one", [pytest.param(one, id=one.path) for one in found])


SHOWN = list(shown())


def test_what_is_shown_is_found():
    assert len(SHOWN) > 150
    paths = {one.path for one in SHOWN}
    assert {"boardlot.AsyncPager.all", "boardlot.archive.QueryResult.to_dicts"} <= paths
    assert paths >= RAISE_NOTHING


@parametrized(SHOWN)
def test_a_docstring_has_each_part(one):
    """What docstrings say in prose is in sections on the page; see tools/reference.py."""
    page = one.page
    sections = {section.kind.value: section.value for section in page.docstring.parse("google")}
    # Of a dataclass, the arguments are its attributes.
    items = [*sections.get("parameters", []), *sections.get("attributes", [])]
    described = {item.name: item.description for item in items}
    assert set(one.parameters) <= set(described)
    assert all(len(text) > 5 for text in described.values())
    if inspect.isclass(one.thing):
        return
    assert "returns" in sections or str(page.returns) in ("None", "Self")
    assert ("raises" in sections) == (one.path not in RAISE_NOTHING)
    assert "examples" in sections
    assert "**See also:**" in page.docstring.value
    name = one.path.rpartition(".")[2]
    if one.path.startswith(("boardlot.Client.", "boardlot.AsyncClient.")) and name in METHODS:
        assert "**Service's documentation:** section 4." in page.docstring.value


@parametrized(one for one in SHOWN if ">>>" in one.page.docstring.value)
def test_the_example_runs(one, sandbox, tmp_path, monkeypatch):
    for module, needed in NEEDED.items():
        if one.path.startswith(module):
            pytest.importorskip(needed)
    monkeypatch.setenv("MPLBACKEND", "agg")
    key_file = tmp_path / "key.pem"
    key_file.touch(mode=0o600)
    client = sandbox.async_client() if "Async" in one.path else sandbox.client()
    names = {"bl": bl, "client": client, "sandbox": sandbox, "key_file": key_file}
    names |= {"account": sandbox.accounts["trade"][0], "folder": tmp_path}
    names |= {"Decimal": Decimal, "NamedTuple": NamedTuple, "timedelta": timedelta}
    checker = doctest.OutputChecker()
    text = one.text if ">>>" in one.text else one.page.docstring.value
    examples = doctest.DocTestParser().get_examples(text)
    assert examples
    for example in examples:
        if example.options.get(doctest.SKIP):
            continue
        printed = printed_by(example.source, "<example>", "single", names)
        same = checker.check_output(example.want, printed, doctest.NORMALIZE_WHITESPACE)
        assert same, f"{example.source}shows\n{printed}"
        # As a browser does: else a login waits a while for the end of its page.
        for page in filter(lambda value: isinstance(value, HTTPResponse), names.values()):
            page.close()
    close({name: value for name, value in names.items() if value is not sandbox})
