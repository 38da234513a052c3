"""Makes the sections of the API pages from docstrings, in one form for every part of a call.

A docstring describes parameters, results and errors in prose or in lists; its class shows each
method in one example. From these, from the signature and from the table of endpoints, this module
writes Google's sections: every callable has the same parts, and nothing is written twice.
"""

from __future__ import annotations

import ast
import builtins
import doctest
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from boardlot import errors

ENDPOINTS = (Path(__file__).parents[1] / "docs" / "endpoints.md").read_text("utf-8")
SECTION = re.compile(r"^(\w+):\n((?: {4}.*(?:\n|\Z)|\n(?= {4}))+)", re.MULTILINE)
ITEM = re.compile(r"^ {4}([\w, *]+): (.*(?:\n(?: {5,}.*|(?=\n {5,})))*)", re.MULTILINE)
BULLET = re.compile(r"^- ((?:`\w+`(?:, )?)+): (.*(?:\n  .*)*)", re.MULTILINE)
EXAMPLE = re.compile(r"^ *>>> .*(?:\n.*\S.*)*", re.MULTILINE)
SENTENCE = re.compile(r"(?<=\.)\s+(?=[A-Z`])")
RAISES = re.compile(r"\braises?\b", re.IGNORECASE)
NAMED = re.compile(r"(?:\ba |\ban )?`([A-Z]\w+)`\s*")
REFERENCE = re.compile(r"\b(?:see|errors of)\s+`(?:boardlot\.)?([\w.]+)`")

# Descriptions of parameters that docstrings mention only in passing.
PARAMETERS = {
    "account": "only of this account; by default of all",
    "algorithm": '`"Ed25519"` or `"RSA-SHA256"`',
    "authorize_url": "the address of the consent page: `url` of a login",
    "callback_url": "the URL to which the browser was redirected",
    "cls": "a dataclass, `NamedTuple`, `msgspec.Struct` or another class with annotated fields",
    "concurrency": "how many requests are in flight at once",
    "data": "the bytes to store",
    "endpoint": "an `Endpoint` that you declared",
    "key": "the name under which the bytes are stored: the service's origin with the client id",
    "market": "the market of the list",
    "max_items": "at most this many rows, 1 or more; None: all",
    "max_pages": "at most this many pages, 1 or more; None: all",
    "name": 'the name of a method, such as `"fills_history"`',
    "on_error": '`"raise"` the first failure, or `"collect"` failures in `.errors`',
    "payload": "the bytes to sign",
    "progress": "show a bar (tqdm, if it is installed)",
    "public_pem": "the public key as PEM text",
    "records": "what `ipo_list` returned for the market",
    "rows": "dicts as the service would send them",
    "scopes": "the scopes to allow; by default those that the page has selected",
    "start": "the first index to look at",
    "stop": "the index before which to stop",
    "times": "how many requests fail; None: all until `reset()`",
    "typed": "convert the values as the schema declares",
    "user": "the id of the user in your application",
    "value": "the record to look for",
}
# Classes whose methods do not depend on earlier calls.
CHANGELESS = ("ApiKey", "Records", "Sandbox", "calendar.IpoCalendar")

# This one shows the rows of another.
PUT_BEFORE = "Sandbox.fail_next"


class Reference:
    """The docstrings of all that is public, by name: `Records.select`, `frames.to_pandas`."""

    def __init__(self, texts: dict[str, str]) -> None:
        self.texts = texts

    def complete(
        self, name: str, text: str, parameters: list[str], returns: bool, links: list[str]
    ) -> str:
        """The docstring of `name`, a class or a member of one, with all its sections.

        `returns` is true if there is something to return; `links` are the names to see also.
        """
        method = name.rpartition(".")[2]
        owned = name.rpartition(".")[0]
        owner = self.texts.get(owned, "")
        referred = self._around(name, f"{text}\n{owner}")
        around = [owner, *referred]
        prose, sections, example = parts(text)
        described = dict(items(sections.get("Args", "")))
        prose = _plain(BULLET.sub(lambda match: _listed(match, described, parameters), prose))
        for parameter in parameters:
            if parameter not in described:
                described[parameter] = _about(parameter, [prose, *around])
        prose, _ = _split_off(
            prose, lambda one: one.startswith(tuple(f"`{it}`" for it in parameters))
        )
        raised = dict(items(sections.get("Raises", "")))
        prose, own = _split_off(prose, lambda one: one.startswith("Raises "))
        raised |= _raised(own)
        for more in around:
            is_owner = more is owner
            raised = raised or (not is_owner and dict(items(parts(more)[1].get("Raises", ""))))
            raised = raised or _raised(
                one
                for one in _sentences([prose, more] if is_owner else [more])
                if _concerns(one, method)
                # For a class, these are the errors of its constructor.
                and (not is_owner or not one.startswith("Raises ") or "its methods" in one)
            )
        prose, given = _split_off(prose, lambda one: one.startswith(("Returns ", "A pager over ")))
        out = [prose]
        if described:
            out.append("Args:\n" + "\n".join(_item(key, one) for key, one in described.items()))
        if returns:
            result = sections.get("Returns", "").strip() or " ".join(given).removeprefix("Returns ")
            out.append(f"Returns:\n    {_line(result or _returned(_sentences([text])[0]))}")
        if raised:
            out.append("Raises:\n" + "\n".join(_item(key, one) for key, one in raised.items()))
        known = ("Args", "Returns", "Raises")
        out += [f"{kind}:\n{one.rstrip()}" for kind, one in sections.items() if kind not in known]
        for more in around:
            example = example or sliced(method, more, owned not in CHANGELESS or name == PUT_BEFORE)
        example = example or "\n".join([parts(more)[2] for more in around if ">>>" in more][:1])
        if example:
            out.append("Examples:\n" + re.sub("^", "    ", example.strip(), flags=re.MULTILINE))
        if links:
            out.append(f"**See also:** {', '.join(links)}")
        return "\n\n".join(filter(None, (*out, documented_in(name))))

    def _around(self, name: str, text: str, seen: set[str] | None = None) -> list[str]:
        """The docstrings to which this docstring and its class refer."""
        seen = {name, name.rpartition(".")[0]} if seen is None else seen
        texts = []
        for other in REFERENCE.findall(text):
            if other in self.texts and other not in seen:
                seen.add(other)
                text = self.texts[other]
                texts += [text, *self._around(other, text, seen)]
        return texts


def parts(text: str) -> tuple[str, dict[str, str], str]:
    """The prose of a docstring, its sections by name, and its example."""
    examples = [match[0] for match in EXAMPLE.finditer(text)]
    text = EXAMPLE.sub("", text)
    sections = {match[1]: match[2] for match in SECTION.finditer(text)}
    prose = re.sub(r"^Examples?:$", "", SECTION.sub("", text), flags=re.MULTILINE)
    return _plain(prose), sections, "\n\n".join(textwrap.dedent(one) for one in examples)


def _plain(prose: str) -> str:
    return re.sub(r"\n{3,}", "\n\n", prose).strip()


def items(section: str) -> Iterator[tuple[str, str]]:
    """The names and descriptions of a section."""
    for names, text in ITEM.findall(section):
        for name in names.replace("*", "").split(", "):
            yield name, text


def _item(name: str, text: str) -> str:
    return f"    {name}: {_line(text)}"


def _line(text: str) -> str:
    text = " ".join(text.split()).strip(" ;,")
    text = text[1:-1] if text.startswith("(") and text.endswith(")") else text
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", ":")) else ".")


def _listed(match: re.Match[str], described: dict[str, str], parameters: Iterable[str]) -> str:
    """Moves a list item that describes parameters into `described`."""
    names = re.findall(r"`(\w+)`", match[1])
    if not set(names) <= set(parameters):
        return match[0]
    described |= dict.fromkeys(names, match[2])
    return ""


def _sentences(texts: Iterable[str]) -> list[str]:
    """The sentences of prose, without lists, sections and examples."""
    found = []
    for text in texts:
        for paragraph in parts(text)[0].split("\n\n"):
            if not paragraph.startswith(("- ", "|")):
                found += [" ".join(one.split()) for one in SENTENCE.split(paragraph)]
    return list(filter(None, found))


def _about(parameter: str, texts: Iterable[str]) -> str:
    """The item of a list or a section, or the sentence, about a parameter."""
    mentioned = ""
    for text in texts:
        listed = dict(items(parts(text)[1].get("Args", "")))
        for one in BULLET.finditer(text):
            listed |= dict.fromkeys(re.findall(r"\w+", one[1]), one[2])
        if parameter in listed:
            return listed[parameter]
        for sentence in _sentences([text]):
            if sentence.startswith(f"`{parameter}"):
                return sentence.removeprefix(f"`{parameter}` is ")
            if re.search(rf"`{parameter}(=[^`]*)?`", sentence):
                mentioned = mentioned or sentence
    return PARAMETERS.get(parameter, mentioned)


def _split_off(prose: str, chosen: Callable[[str], bool]) -> tuple[str, list[str]]:
    """The prose without the chosen sentences, and the chosen sentences."""
    taken: list[str] = []
    left: list[str] = []
    for paragraph in prose.split("\n\n"):
        kept: list[str] = []
        for sentence in SENTENCE.split(paragraph):
            # The first one stays, as it says what this is.
            is_chosen = chosen(" ".join(sentence.split())) and (left or kept)
            (taken if is_chosen else kept).append(sentence)
        left.append(paragraph if len(kept) == len(SENTENCE.split(paragraph)) else " ".join(kept))
    return "\n\n".join(filter(None, left)), taken


def _raised(sentences: Iterable[str]) -> dict[str, str]:
    """The errors that sentences name, each with the condition under which it is raised."""
    found: dict[str, str] = {}
    for sentence in (" ".join(one.split()) for one in sentences):
        names = [one for one in NAMED.finditer(sentence) if is_error(one[1])]
        if not RAISES.search(sentence) or (not names and "errors of `" in sentence):
            continue
        for one, following in zip(names, [*names[1:], None], strict=False):
            text = sentence[one.end() : following.start() if following else None]
            when = re.sub(r"(?:[,;]| and|, and| or)+\s*$", "", text).strip(" ,;.")
            when = when.removeprefix("and ")
            if not sentence.startswith("Raises ") or not when:
                when = sentence
            found.setdefault(one[1], when.partition("; see `boardlot.errors`")[0])
        if "`boardlot.errors`" in sentence or not names:
            found["BoardlotError"] = (
                "The other errors of a request: see [Errors](../errors.md)" if names else sentence
            )
    return found


def _concerns(sentence: str, method: str) -> bool:
    """False for a sentence about other methods: "`finish` and `wait` raise"."""
    before = RAISES.split(sentence)[0]
    return f"`{method}`" in before or not re.search(r"`[a-z]\w*`", before)


def _returned(sentence: str) -> str:
    """The description of the result, from the first sentence of a docstring."""
    found = re.search(r"\b[rR]eturns (.*)", sentence)
    return found[1] if found else sentence


def is_error(name: str) -> bool:
    kind = getattr(errors, name, getattr(builtins, name, None))
    return isinstance(kind, type) and issubclass(kind, Exception)


def sliced(method: str, text: str, has_state: bool) -> str:
    """The statements of a class's example that call a method, and the statements that these need.

    If the object has a state, these include the calls that may have changed it.
    """
    examples = doctest.DocTestParser().get_examples(text)
    chosen = next(
        (at for at, one in enumerate(examples) if re.search(rf"\.{method}\b", one.source)), None
    )
    if chosen is None:
        return ""
    end = chosen
    # The next statement shows the effect of the call.
    if not examples[end].want and end + 1 < len(examples) and examples[end + 1].want:
        end += 1
    defined = set[str]().union(*map(_defined, examples))
    needed, kept = set[str](), []
    for at in range(end, -1, -1):
        names = {one.id for one in _nodes(examples[at]) if isinstance(one, ast.Name)}
        # A statement that only shows something changes nothing but an iterator.
        is_shown = bool(examples[at].want) and "iterator" not in text
        changed = names if has_state and not is_shown else set()
        changes = (changed | _defined(examples[at])) & needed
        if at >= chosen or changes:
            needed |= names & defined
            kept.append(examples[at])
    lines = []
    for one in reversed(kept):
        first, *others = one.source.splitlines()
        lines += [f">>> {first}", *(f"... {line}" for line in others), *one.want.splitlines()]
    return "\n".join(lines)


def _nodes(example: doctest.Example) -> Iterator[ast.AST]:
    code = compile(example.source, "", "single", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    return ast.walk(code)


def _defined(example: doctest.Example) -> set[str]:
    """The names that an example assigns, imports or declares."""
    names = set()
    for one in _nodes(example):
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
            names.add(one.id)
        elif isinstance(one, ast.ClassDef | ast.FunctionDef):
            names.add(one.name)
        elif isinstance(one, ast.alias):
            names.add(one.asname or one.name)
    return names


def documented_in(name: str) -> str:
    """The sections in which the service's documentation describes a client's method and its
    records."""
    method = name.rpartition(".")[2]
    row = re.search(rf"^\| \[`{method}`\].*\| ([\d.]+) \|$", ENDPOINTS, re.MULTILINE)
    if row is None or not name.startswith(("Client.", "AsyncClient.")):
        return ""
    body = ENDPOINTS.partition(f"\n## {method}\n")[2].partition("\n## ")[0]
    records = re.findall(r"^### (\w+)\n\n.* Section ([\d.]+)\.$", body, re.MULTILINE)
    fields = ", ".join(f"[{one}](../endpoints.md#{one.lower()}): {at}" for one, at in records)
    return (
        f"**Service's documentation:** section {row[1]}"
        + (f"; fields of {fields}" if fields else "")
        + f". All about [this endpoint](../endpoints.md#{method})."
    )
