"""Conversion of values for the views of a SQLite archive: the same as in a frame.

The rule is that of the core (`decode/scalars/typed_value.rs`); SQLite has no regular expressions.
The tests compare both with the same values.
"""

from __future__ import annotations

from boardlot._support.tables.cell_format import MICROSECONDS

# The seconds from 1970 to the first moments of years 1 and 10000.
YEAR_1, YEAR_10000 = -62_135_596_800, 253_402_300_800
FIVE_DIGITS = "[0-9]" * 5
ZONES = ["[zZ]", " [zZ]"] + [
    f"{space}[+-]{zone}"
    for space in ("", " ")
    for zone in ("[0-2][0-9]", "[0-2][0-9][0-5][0-9]", "[0-2][0-9]:[0-5][0-9]")
]


# Without a type of the column, `price > '100'` and `order_id = 12` would compare a text with a
# number, and SQLite holds every text for the greater one.
COLUMN_TYPES = {
    "text": "text",
    "object": "text",
    "date": "text",
    "timestamp": "text",
    "integer": "integer",
    "number": "real",
    "decimal": "real",
}


def typed(name: str, kind: str, unit: str) -> str:
    """The expression of a field of the column `record`, with the type of its column."""
    value = _value(name, kind.removesuffix(" not zero"), unit)
    if kind.endswith(" not zero"):
        value = f"nullif({value}, 0)"
    column_type = COLUMN_TYPES.get(kind.removesuffix(" not zero"))
    return value if column_type is None else f"cast({value} as {column_type})"


def _value(name: str, kind: str, unit: str) -> str:
    field = _Field(f"'$.\"{name}\"'")
    expressions = {
        "flag": lambda: f"case when {field.type} in ('true', 'false') then {field.value} end",
        "text": lambda: (
            # Absent or null: the JSON of both is `null`.
            f"case {field.type} when 'text' then {field.text} else nullif({field.json}, 'null') end"
        ),
        "object": lambda: f"case when {field.type} = 'object' then {field.value} end",
        "date": lambda: f"case when {field.type} = 'text' then {_date(field.text)} end",
        "integer": lambda: _integer(field),
        "timestamp": lambda: _timestamp(field, unit),
        "number": lambda: _number(field, exact=False),
        "decimal": lambda: _number(field, exact=True),
    }
    return expressions[kind]() if kind in expressions else field.value


class _Field:
    """The expressions of a field's value, its type, its text and its JSON."""

    def __init__(self, path: str) -> None:
        self.type = f"json_type(record, {path})"
        self.value = f"json_extract(record, {path})"
        # SQLite ends a text at U+0000, which would make a number of some that are not.
        document = r"replace(record, '\u0000', '\ufffd')"
        self.text = f"json_extract({document}, {path})"
        # Of one path, SQLite would make a number of it.
        twice = f"json_extract(record, {path}, {path})"
        self.json = f"substr({twice}, 2, (length({twice}) - 3) / 2)"


def timestamp_sql(column: str) -> str:
    """The expression of a column of microseconds as ISO 8601."""
    return _iso(f"({column})")


def _integer(field: _Field) -> str:
    text = (
        "(select case when d <> '' and d not glob '*[^0-9]*' "
        "then case when typeof(cast(t as numeric)) = 'integer' then cast(t as numeric) end "
        f"else {_whole(field, field.text)} end from "
        "(select t, case when substr(t, 1, 1) in ('+', '-') then substr(t, 2) else t end as d "
        f"from (select {field.text} as t)))"
    )
    return (
        f"case {field.type} when 'integer' then case when typeof({field.value}) = 'integer' "
        f"then {field.value} end when 'real' then {_whole(field, field.json)} "
        f"when 'text' then {text} end"
    )


def _whole(field: _Field, text: str) -> str:
    """A whole number with a point or an exponent, such as 5.0: exact below 2^53."""
    # A number that is too small for a float is not 0.
    is_zero = "substr(t, 1, instr(lower(t) || 'e', 'e') - 1) not glob '*[1-9]*'"
    return (
        "(select case when abs(f) < 9007199254740992 and f = cast(f as integer) "
        f"and (f <> 0 or {is_zero}) then cast(f as integer) end "
        f"from (select {_number(field, exact=True)} as f, {text} as t))"
    )


def _timestamp(field: _Field, unit: str) -> str:
    per_second = 1_000_000 // MICROSECONDS.get(unit, 1_000_000)
    micros = (
        f"(select case when i <> 0 and i >= {YEAR_1 * per_second} "
        f"and i < {YEAR_10000 * per_second} then i * {1_000_000 // per_second} end "
        f"from (select {_integer(field)} as i))"
    )
    return f"(select {_iso('m')} from (select {micros} as m))"


def _number(field: _Field, *, exact: bool) -> str:
    # No reader of decimals accepts a longer exponent.
    short = f"t not glob '*[eE]{FIVE_DIGITS}*' and t not glob '*[eE][+-]{FIVE_DIGITS}*'"
    finite = "abs(cast(t as real)) < 9e999"
    # Compared with a number, a text that is wholly a number becomes one, and others stay greater.
    is_number = "cast(9e999 as numeric) > t and t not glob '*[^0-9.eE+-]*'"
    text = (
        f"(select case when {is_number} and {finite}{f' and {short}' if exact else ''} "
        f"then cast(t as real) end from (select {field.text} as t))"
    )
    real = f"(select case when {finite} then cast(t as real) end from (select {field.value} as t))"
    if exact:
        real = (
            f"(select case when {finite} and {short} then cast(t as real) end "
            f"from (select {field.json} as t))"
        )
    return (
        f"case {field.type} when 'integer' then cast({field.value} as real) "
        f"when 'real' then {real} when 'text' then {text} end"
    )


def _date(value: str) -> str:
    """A day, which a time of day may follow."""
    zone = " or ".join(f"z glob '{pattern}'" for pattern in ZONES)
    hours = "substr(ltrim(z), 2, 2) <= '23'"
    # After the minutes: seconds and their fraction.
    seconds = "glob ':[0-6][0-9]*' and substr(s, 2, 2) <= '60'"
    return (
        "(select case when d like '____-__-__' and substr(d, 1, 4) > '0000' "
        # With a modifier, a day that does not exist becomes one of the next month.
        "and date(d, '+0 days') = d and (r = '' or "
        "(r glob '[tT ][0-2][0-9]:[0-5][0-9]*' and substr(r, 2, 2) <= '23' "
        f"and (z = '' or z glob '[zZ]' or z glob ' [zZ]' or (({zone}) and {hours})))) "
        "then d end from "
        "(select v, d, r, case when s not glob ':*' then s when not (s " + seconds + ") then '?' "
        "when substr(s, 4, 1) not in ('.', ',') then substr(s, 4) "
        "when substr(s, 5, 1) not glob '[0-9]' then '?' "
        "else ltrim(substr(s, 5), '0123456789') end as z from "
        "(select v, case when substr(v, 5, 1) = '/' and substr(v, 8, 1) = '/' "
        "then replace(substr(v, 1, 10), '/', '-') else substr(v, 1, 10) end as d, "
        f"substr(v, 11) as r, substr(v, 17) as s from (select {value} as v))))"
    )


def _iso(micros: str) -> str:
    # Rounded down, before 1970 too.
    rest = f"((({micros}) % 1000000 + 1000000) % 1000000)"
    seconds = f"strftime('%Y-%m-%d %H:%M:%S', (({micros}) - {rest}) / 1000000, 'unixepoch')"
    return f"{seconds} || printf('.%06d+00:00', {rest})"
