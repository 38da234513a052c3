"""Every public class and function has its docstring where type checkers and editors look for it."""

import ast
import inspect
from pathlib import Path

import boardlot as bl
import stub_docstrings

PACKAGE = Path(bl.__file__).parent


def test_the_stub_has_the_docstrings_of_the_compiled_module():
    found = documented()
    assert len(found) > 60
    for node, docstring in found:
        assert ast.get_docstring(node) == docstring, f"{node.name}: run `make stubs`"


def documented():
    """Every public definition of the stub, with its docstring in the compiled module."""
    return [*stub_docstrings.documented(ast.parse(stub_docstrings.STUB.read_text("utf-8")))]


def test_modules_have_docstrings():
    for file in PACKAGE.glob("**/*.py"):
        assert ast.get_docstring(ast.parse(file.read_text("utf-8"))), file


def test_the_docstring_that_help_shows_is_that_of_the_stub():
    shown = {node.name: docstring for node, docstring in documented()}
    assert shown["OAuth"] == inspect.getdoc(bl.OAuth)
    assert shown["generate_key"] == inspect.getdoc(bl.generate_key)
