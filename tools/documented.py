"""The API pages' view of the compiled module, as an extension of griffe.

Griffe reads docstrings from the compiled module and the types of arguments from its stub. Left to
do here: constructors, which only the stub shows; what only a base has; names that mean nothing
outside the stub; and examples, which stand in the docstrings without a fence.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import griffe

EXAMPLE = re.compile(r"^( *)>>> .*?(?=\n\s*\n|\Z)", re.DOTALL | re.MULTILINE)
FENCED = r"\1```pycon\n\g<0>\n\1```"
# The page that shows a method of the clients at work, if it is not `service`; the page links back.
GUIDES = {
    "ipo_list": "ipo-calendar",
    "dividends": "many-symbols",
    "plate_stocks": "paging",
    "crypto_orders": "paging",
    "fills_history": "paging",
    "fetch_many": "many-symbols",
    "ipo_calendar": "ipo-calendar",
    "call": "custom-endpoints",
    "pages": "custom-endpoints",
    "paginate": "paging",
    "explain": "signing",
}
# How a method came to be is of no use to who calls it.
IDLE_LABELS = {"builtin", "class-attribute", "instance-attribute", "method descriptor"}


class Documented(griffe.Extension):
    """Completes the package once all of it is loaded."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        core = pkg["_core"]
        folder = pkg.filepath.parent / "_core"
        stub = _stub(folder)
        griffe.merge_stubs(core, _stub(folder))
        for path in folder.glob("_[a-z]*.pyi"):
            core.del_member(path.stem)
        for kind in core.members.values():
            if isinstance(kind, griffe.Class):
                _take_constructor(kind, stub[kind.name])
        for name in ("Pager", "AsyncPager"):
            _take_from_base(core[name], core["PagerBase"])
        for name, method in pkg["_api.Client"].members.items():
            if name.startswith("_") or name == "close":
                continue
            guide, docstring = GUIDES.get(name, "service"), method.docstring
            docstring.value += f"\n\nGuide: [{guide.replace('-', ' ')}](../{guide}.md)"
        for thing in _within(pkg):
            thing.labels -= IDLE_LABELS
            if thing.docstring:
                thing.docstring.value = EXAMPLE.sub(FENCED, thing.docstring.value)
            if isinstance(thing, griffe.Function):
                _spell_out(thing, stub)
            elif isinstance(thing, griffe.Attribute):
                thing.annotation = _plain(thing.annotation, stub)


def _stub(folder: Path) -> griffe.Module:
    """The files of the stub as one module, as the compiled one is."""
    files = {path.stem: ast.parse(path.read_text("utf-8")) for path in sorted(folder.glob("*.pyi"))}
    body: list[ast.stmt] = []
    for node in (node for tree in files.values() for node in tree.body):
        if isinstance(node, ast.ImportFrom) and node.level:
            if node.level == 1:  # From another file of the stub.
                continue
            node.level, node.module = 0, f"{folder.parent.name}.{node.module}"
        body.append(node)
    code = ast.unparse(ast.Module(body, []))
    return griffe.visit("boardlot._core", filepath=folder.with_suffix(".pyi"), code=code)


def _take_constructor(kind: griffe.Class, stub: griffe.Class) -> None:
    """Show `__new__` of a native class as what its name is called with."""
    if "__new__" in kind.members:
        kind.del_member("__new__")
    made = stub.members.get("__new__")
    if isinstance(made, griffe.Function):
        made.name = "__init__"
        made.returns = None
        del made.parameters["cls"]
        kind.set_member("__init__", made)


def _take_from_base(kind: griffe.Class, base: griffe.Class) -> None:
    """Give a class what its base has: whole members, and docstrings of those it types again."""
    for name, member in base.members.items():
        own = kind.members.get(name)
        if name.startswith("_") or isinstance(member, griffe.Alias):
            continue
        if own is None:
            kind.set_member(name, member)
        elif own.docstring is None:
            own.docstring = member.docstring


def _within(module: griffe.Object) -> Iterator[griffe.Object]:
    for member in list(module.members.values()):
        if not isinstance(member, griffe.Alias):
            yield member
            yield from _within(member)


def _spell_out(function: griffe.Function, stub: griffe.Module) -> None:
    """Write the values that are allowed where the stub has a name of its own for them."""
    parameters = list(function.parameters)
    if parameters and parameters[0].name == "self":
        # Positional only, it would leave its slash behind.
        parameters[0].kind = griffe.ParameterKind.positional_or_keyword
    for parameter in parameters:
        parameter.annotation = _plain(parameter.annotation, stub)
    function.returns = _plain(function.returns, stub)


def _plain(part: Any, stub: griffe.Module) -> Any:
    if isinstance(part, griffe.ExprName):
        named = stub.members.get(part.name)
        if isinstance(named, griffe.Attribute) and "Literal" in str(named.value):
            return named.value
        private = part.name in stub.members and part.name.startswith("_")
        return part.name.strip("_").removesuffix("_co") if private else part
    if isinstance(part, list):
        return [_plain(one, stub) for one in part]
    if is_dataclass(part) and isinstance(part, griffe.Expr):
        for field in fields(part):
            if field.name != "parent":
                setattr(part, field.name, _plain(getattr(part, field.name), stub))
    return part
