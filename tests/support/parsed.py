"""What response bodies and stored texts become, without HTTP."""

from boardlot import _core
from boardlot.records import records_of


def parser(name, arguments):
    """A function that makes `Records` of the body of a response to the method with this name."""
    read = _core._response_parser(name, arguments)
    return lambda body: records_of(read(body))


def parsed(name, arguments, body):
    """The `Records` of a response to the method with this name."""
    return parser(name, arguments)(body)


def parsed_rows(name, arguments, body):
    """The rows of the core, of which pagers make frames."""
    return _core._response_parser(name, arguments)(body)


def rows_of(records):
    """The rows of the core that records are now."""
    return records._rows()
