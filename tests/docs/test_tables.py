"""Tables of the docs: a row for each thing of its kind, which says what the code says of it."""

import inspect

import boardlot as bl
from boardlot import _core
from boardlot.cli.settings import FORMATS

from .test_pages import DOCS

STORES = [
    name
    for name, thing in vars(bl).items()
    if isinstance(thing, type) and issubclass(thing, _core._TokenStoreBase)
]


def rows_below(page, head):
    """The cells of the rows of the table with this head."""
    lines = iter((DOCS / page).read_text("utf-8").splitlines())
    assert head in lines, f"{page} has no table {head}"
    next(lines)
    table = []
    for line in lines:
        if not line.startswith("| "):
            break
        table.append(tuple(cell.strip() for cell in line.strip("|").split(" | ")))
    return table


def test_the_page_on_the_command_line_describes_each_format():
    expected = [(f"`{name}`", format_.summary) for name, format_ in FORMATS.items()]
    assert rows_below("command-line.md", "| `--format` | |") == expected


def test_the_page_on_logins_describes_each_store():
    def summary(name):
        return " ".join(inspect.getdoc(getattr(bl, name)).partition("\n\n")[0].split())

    expected = {f"`{name}`": summary(name) for name in STORES}
    assert dict(rows_below("login.md", "| Store | |")) == expected


def test_the_reference_has_a_section_for_each_store():
    page = (DOCS / "api" / "stores.md").read_text("utf-8")
    sections = [line for line in page.splitlines() if line.startswith("::: ")]
    assert set(sections) == {f"::: boardlot.{name}" for name in ["TokenStore", *STORES]}
