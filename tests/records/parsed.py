"""The reader of response bodies without HTTP: for tests that read thousands, or its own parts."""

import json

from boardlot import _core
from boardlot.pager import Pager
from boardlot.records import records_of


def parser(name, arguments):
    """A function that makes `Records` of the body of a response to the method with this name."""
    read = _core._response_parser(name, arguments)
    return lambda body: records_of(read(body))


def parsed_rows(name, arguments, body):
    """The rows of the core, of which pagers make frames."""
    return _core._response_parser(name, arguments)(body)


def rows_of(records):
    """The rows of the core that records are now."""
    return records._rows()


def pager_over(*pages):
    """A pager over rows of no declared fields, on pages, without HTTP."""
    bodies = []
    for number, rows in enumerate(pages):
        pagination = {"has_more": number + 1 < len(pages), "next_key": f"after {number}"}
        page = {"code": 0, "data": {"stock_list": list(rows)}, "pagination": pagination}
        bodies.append(json.dumps(page).encode())
    return Pager(_core._pages_of_bodies("plate_stocks", [("plate_code", "HK.BK1001")], bodies))
