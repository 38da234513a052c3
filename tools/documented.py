"""An extension of griffe that completes the compiled module for the API pages.

Griffe reads docstrings from the compiled module and the types of arguments from its stub. This
extension adds constructors, which only the stub shows, and members that only a base class has; it
replaces names that mean nothing outside the stub; and it adds the sections of each docstring, which
tools/reference.py writes.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from copy import copy
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import griffe

# The build of the site loads this file by its path.
sys.path.insert(0, str(Path(__file__).parent))
from reference import Reference

DOCS = Path(__file__).parents[1] / "docs"

EXAMPLE = re.compile(r"^( *)>>> .*?(?=\n\s*\n|\Z)", re.DOTALL | re.MULTILINE)
FENCED = r"\1```pycon\n\g<0>\n\1```"
# The page that shows a method of the clients in use, if it is not `service`; the page links back.
GUIDES = {
    "ipo_list": "ipo-calendar",
    "dividends": "many-symbols",
    "plate_stocks": "paging",
    "crypto_orders": "paging",
    "fills_history": "paging",
    "fetch_many": "many-symbols",
    "pages_many": "many-symbols",
    "ipo_calendar": "ipo-calendar",
    "call": "custom-endpoints",
    "pages": "custom-endpoints",
    "paginate": "paging",
    "explain": "signing",
}
# The page about a whole class or module.
PAGES = {
    "ApiKey": "signing",
    "Archive": "archive",
    "BearerToken": "signing",
    "DateRange": "custom-endpoints",
    "Endpoint": "custom-endpoints",
    "Faults": "sandbox",
    "LoginFlow": "login",
    "OAuth": "login",
    "App": "web-applications",
    "OAuthApp": "web-applications",
    "AsyncPager": "paging",
    "Pager": "paging",
    "RateLimit": "rate-limits",
    "Records": "frames",
    "Recorder": "recording",
    "Replay": "recording",
    "Sandbox": "sandbox",
    "_TokenStoreBase": "token-stores",
    "begin_login": "login",
    "generate_key": "signing",
    "load_endpoints": "custom-endpoints",
    "login": "login",
    "register_client": "web-applications",
    "signature_payload": "signing",
    "archive": "archive",
    "auth": "other-clients",
    "calendar": "ipo-calendar",
    "dask": "scale-out",
    "doctor": "command-line",
    "frames": "frames",
    "notebook": "frames",
    "openapi": "openapi",
    "otel": "logging",
    "plots": "cookbook",
    "polars": "scale-out",
    "ray": "scale-out",
    "spark": "scale-out",
}
# Python classes that are made by `__new__`.
VALUES = ("endpoint.DateRange", "endpoint.Endpoint", "rate_limit.RateLimit", "sandbox.Faults")
# Callers of a method do not need to know how it was defined.
IDLE_LABELS = {"builtin", "class-attribute", "instance-attribute", "method descriptor"}


class Documented(griffe.Extension):
    """Completes the package once all of it is loaded."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        core = pkg["_core"]
        path = pkg.filepath.parent / "_core.pyi"
        stub = _stub(path)
        griffe.merge_stubs(core, _stub(path))
        for name, kind in list(core.members.items()):
            own = stub.members.get(name)
            if isinstance(kind, griffe.Alias) and isinstance(own, griffe.Class):
                # The stub imports all names of this file.
                core.set_member(name, own)
                shown = pkg.members.get(name)
                # The package may show a class of its own above this one.
                if shown is None or shown.target_path == f"boardlot._core.{name}":
                    pkg.set_member(name, griffe.Alias(name, own, parent=pkg))
            if isinstance(core.members[name], griffe.Class):
                _take_constructor(core.members[name], stub[name])
        for name in PAGES:
            for kind in _kinds_of(name, stub):
                _take_from_base(core[kind], core[name])
        _take_from_base(pkg["archive.archive.Archive"], pkg["archive.reader.Reader"])
        for kind in ("OAuthApp", "AsyncOAuthApp"):
            _take_from_base(pkg[f"oauth_app.{kind}"], pkg["oauth_app.App"])
        _take_constructors(pkg, VALUES)
        for kind in ("Pager", "AsyncPager"):
            _take_from_base(pkg[f"pager.{kind}"], pkg["pager._View"])
        self._complete(pkg)
        for thing in _within(pkg):
            thing.labels -= IDLE_LABELS
            if thing.docstring and "Examples:" not in thing.docstring.value:
                thing.docstring.value = EXAMPLE.sub(FENCED, thing.docstring.value)
            if isinstance(thing, griffe.Function):
                _spell_out(thing, stub)
            elif isinstance(thing, griffe.Attribute) and not thing.name.startswith("_"):
                thing.annotation = _plain(thing.annotation, stub)

    def _complete(self, pkg: griffe.Module) -> None:
        """Writes the sections of everything that the API pages show."""
        shown = dict(_shown(pkg))
        texts = {name: one.docstring.value for name, one in shown.items() if one.docstring}
        # Docstrings name classes and functions without the modules in which they are.
        texts |= {name.split(".", 1)[-1]: text for name, text in texts.items() if name not in texts}
        reference = Reference(texts)
        for name, one in shown.items():
            if one.docstring:
                is_called = one.is_function or "__init__" in one.members
                parameters = _parameters(one) if is_called else []
                returns = one.is_function and str(one.returns) not in ("None", "Self")
                links = _links(name, one.docstring.value, shown)
                text = reference.complete(name, one.docstring.value, parameters, returns, links)
                one.docstring.value = text
                # Docstrings of the stub have no parser.
                one.docstring.parser = pkg.docstring.parser
                one.docstring.parser_options = pkg.docstring.parser_options


def _shown(pkg: griffe.Module) -> Iterator[tuple[str, Any]]:
    """The functions, classes and methods of the API pages, by their names below the package."""
    for page in sorted((DOCS / "api").glob("*.md")):
        for name in re.findall(r"^::: boardlot\.([\w.]+)$", page.read_text("utf-8"), re.MULTILINE):
            one = pkg[name].final_target if isinstance(pkg[name], griffe.Alias) else pkg[name]
            if one.is_function or one.is_class:
                yield name, one
            if one.is_class:
                for member, value in one.all_members.items():
                    if not member.startswith("_") and value.is_function:
                        yield f"{name}.{member}", value.final_target if value.is_alias else value


def _parameters(one: griffe.Function | griffe.Class) -> list[str]:
    """The names of the parameters that callers pass."""
    parameters = list(one.parameters)
    bound = [it for it in parameters[:1] if it.name in ("self", "cls")]
    named = [it for it in parameters if not str(it.kind.value).startswith("variadic")]
    return [it.name for it in named if it not in bound]


def _links(name: str, text: str, shown: dict[str, Any]) -> list[str]:
    """The links to see also: the guide, the twin, and everything that the docstring names."""
    first, _, method = name.partition(".")
    is_client = first in ("Client", "AsyncClient")
    bases = map(_base, getattr(shown.get(first), "bases", []))
    pages = map(PAGES.get, (first, *bases))
    guide = GUIDES.get(method, "service") if is_client else next(filter(None, pages), None)
    found = [f"[{guide.replace('-', ' ')}](../{guide}.md)"] if guide else []
    twin = name.removeprefix("Async") if name.startswith("Async") else f"Async{name}"
    named = re.findall(r"`(?:boardlot\.)?([\w.]+)(?:\([^`]*\))?`", text)
    for other in dict.fromkeys([twin, *named, *(f"{first}.{one}" for one in named), first]):
        if other in shown and other != name:
            found.append(f"[`{other}`][boardlot.{other}]")
    return found[:6]


def _kinds_of(base: str, stub: griffe.Module) -> list[str]:
    """The classes that have this base: inherited members are shown as their own."""
    classes = (one for one in stub.members.values() if isinstance(one, griffe.Class))
    return [one.name for one in classes if base in map(_base, one.bases)]


def _base(expression: Any) -> str:
    return str(expression).partition("[")[0].rpartition(".")[2]


def _stub(path: Path) -> griffe.Module:
    """The stub, whose relative imports are those of the package."""
    tree = ast.parse(path.read_text("utf-8"))
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.level:
            node.level, node.module = 0, f"{path.parent.name}.{node.module}"
    return griffe.visit("boardlot._core", filepath=path, code=ast.unparse(tree))


def _take_constructors(pkg: griffe.Module, kinds: tuple[str, ...]) -> None:
    for kind in kinds:
        _take_constructor(pkg[kind], pkg[kind])


def _take_constructor(kind: griffe.Class, stub: griffe.Class) -> None:
    """Show `__new__` of a class as its constructor."""
    # The last overload takes the most arguments.
    made = (stub.overloads.get("__new__") or [stub.members.get("__new__")])[-1]
    if "__new__" in kind.members:
        kind.del_member("__new__")
    if isinstance(made, griffe.Function):
        made.name = "__init__"
        made.returns = None
        del made.parameters["cls"]
        kind.set_member("__init__", made)


def _take_from_base(kind: griffe.Class, base: griffe.Class) -> None:
    """Give a class the members of its base, or only their docstrings if the class types them
    again."""
    for name, member in base.members.items():
        own = kind.members.get(name)
        if name.startswith("_") or isinstance(member, griffe.Alias):
            continue
        if own is None:
            own = copy(member)
            kind.set_member(name, own)
        if own.docstring is None or own.docstring is member.docstring:
            own.docstring = copy(member.docstring)


def _within(module: griffe.Object) -> Iterator[griffe.Object]:
    for member in list(module.members.values()):
        if not isinstance(member, griffe.Alias):
            yield member
            yield from _within(member)


def _spell_out(function: griffe.Function, stub: griffe.Module) -> None:
    """Write the allowed values in place of a name that only the stub has for them."""
    parameters = list(function.parameters)
    if parameters and parameters[0].name == "self":
        # A positional-only parameter would leave its slash behind.
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
