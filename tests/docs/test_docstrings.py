"""Every example of the docstrings runs; those of the pages run in `test_docs.py`."""

import ast
import asyncio
import doctest
import inspect

import boardlot as bl
import pytest


def documented():
    for kind in (bl.Client, bl.AsyncClient):
        for name, method in vars(kind).items():
            if inspect.isfunction(method) and ">>>" in (method.__doc__ or ""):
                yield pytest.param(kind, method, id=f"{kind.__name__}.{name}")


@pytest.fixture(scope="module")
def sandbox():
    with bl.Sandbox(seed=7) as sandbox:
        yield sandbox


def run(source, names):
    """Runs an example; one that awaits, on an event loop of its own."""
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    code = compile(source, "<example>", "eval", flags=flags)
    value = eval(code, names)

    async def awaited():
        return await value

    return asyncio.run(awaited()) if inspect.iscoroutine(value) else value


@pytest.mark.parametrize(("kind", "method"), list(documented()))
def test_docstring(kind, method, sandbox):
    client = sandbox.client() if kind is bl.Client else sandbox.async_client()
    names = {"bl": bl, "client": client, "sandbox": sandbox}
    for example in doctest.DocTestParser().get_examples(inspect.getdoc(method)):
        assert repr(run(example.source.strip(), names)) == example.want.strip()


def test_every_method_has_an_example():
    bare = {"__init__", "__enter__", "__exit__", "__aenter__", "__aexit__", "__getattr__", "close"}
    for kind in (bl.Client, bl.AsyncClient):
        for name, method in vars(kind).items():
            if inspect.isfunction(method) and name not in bare:
                assert ">>>" in method.__doc__, f"{kind.__name__}.{name}"
