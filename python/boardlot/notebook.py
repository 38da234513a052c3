"""Tables for notebooks that can be sorted, searched and paged through, drawn with itables."""

from __future__ import annotations

from typing import Any

from boardlot._calls import explained
from boardlot._support.extras import needs
from boardlot._support.tables.cell_format import value_names
from boardlot.pager import Pager
from boardlot.records import Records

__all__ = ["show", "table_html"]


@explained
def show(records: Any, caption: str | None = None, **options: Any) -> None:
    """Shows records as a table to sort, search and page through.

    Without it, a notebook shows `Records` as a plain table, which needs no script.

    Args:
        records: `Records`, a pager (it is read to its end), or a pandas or polars DataFrame.
        caption: A text below the table.
        options: Passed to `itables.show`, such as `paging=False`.

    Raises:
        ImportError: itables or pandas is not installed.

    Example:
        >>> from boardlot.notebook import show
        >>> show(client.dividends("HK.00700"))  # doctest: +SKIP
    """
    itables = _itables()
    itables.show(_frame(records), caption=caption, **{"allow_html": False, **options})


@explained
def table_html(records: Any, caption: str | None = None, **options: Any) -> str:
    """The HTML of the same table, for a page of your own.

    It loads its script from itables' own address, unless `connected=False` is passed.

    Args:
        records: As for `show`.
        caption: As for `show`.
        options: Passed to `itables.to_html_datatable`.

    Returns:
        The HTML, with every text from the service escaped.

    Raises:
        ImportError: itables or pandas is not installed.

    Example:
        >>> from boardlot.notebook import table_html
        >>> "<table" in table_html(client.dividends("HK.00700"))
        True
    """
    options = {"allow_html": False, "connected": True, **options}
    html = _itables().to_html_datatable(_frame(records), caption=caption, **options)
    return str(html)


def _itables() -> Any:
    with needs("itables", "interactive", "this table"):
        import itables
    return itables


def _frame(records: Any) -> Any:
    """A frame of typed columns, with the names of numeric values next to them."""
    if isinstance(records, Pager):
        records = records.all()
    if not isinstance(records, Records):
        return records
    frame = records.to_pandas()
    for field in records.schema:
        names = value_names(field.values) if field.values else {}
        if names:
            shown = {number: f"{number} {name}" for number, name in names.items()}
            frame[field.name] = frame[field.name].map(lambda x, shown=shown: shown.get(x, x))
    return frame
