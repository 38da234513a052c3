"""Conversion of values for the views of an archive in PostgreSQL: the same as in a frame.

The rule is that of the core (`decode/scalars/typed_value.rs`); the tests compare both with the same
values.
"""

from __future__ import annotations

from boardlot._support.tables.cell_format import MICROSECONDS

# The seconds from 1970 to the first moments of years 1 and 10000.
YEAR_1, YEAR_10000 = -62_135_596_800, 253_402_300_800
NUMBER = "^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?$"
# More of them do not fit into a `numeric`.
LONG_EXPONENT = "[eE][+-]?0*[1-9][0-9]{4}"
LONG_DECIMAL = "[eE][+-]?[0-9]{5}"
DIGITS_MAX = 4_000
# Whole numbers with a point or an exponent are read below this one: 2^53.
EXACT = 9_007_199_254_740_992
# Halves of the largest float's last place and of the smallest float: the bounds of rounding.
TOO_LARGE = "1.797693134862315807e308"
TOO_SMALL = "2.47032822920623272e-324"
LEAP_YEAR = "([0-9][0-9](0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)"
DAY = (
    "^((?!0000)[0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)"
    f"|02-(0[1-9]|1[0-9]|2[0-8]))|(?!0000){LEAP_YEAR}-02-29)$"
)
TIME = (
    "[Tt ]([01][0-9]|2[0-3]):[0-5][0-9](:([0-5][0-9]|60)([.,][0-9]+)?)?"
    "( ?[Zz]| ?[+-]([01][0-9]|2[0-3])(:?[0-5][0-9])?)?"
)
DATE = f"^[0-9]{{4}}([-/])[0-9]{{2}}\\1[0-9]{{2}}({TIME})?$"


def typed(field: str, kind: str, unit: str) -> str:
    """The expression of a field of the column `record`."""
    value = _value(field, kind.removesuffix(" not zero"), unit)
    return f"nullif({value}, 0)" if kind.endswith(" not zero") else value


def _value(field: str, kind: str, unit: str) -> str:
    # JSON can contain U+0000, which PostgreSQL's text cannot.
    document = r"replace(record, '\u0000', '\ufffd')::json"
    value, of_type = f"({document} ->> '{field}')", f"json_typeof({document} -> '{field}')"
    if kind in ("flag", "object"):
        json_type, found = ("boolean", f"{value} = 'true'") if kind == "flag" else (kind, value)
        return f"case when {of_type} = '{json_type}' then {found} end"
    if kind == "date":
        day = "replace(substr(v, 1, 10), '/', '-')"
        found = f"case when v ~ '{DATE}' and {day} ~ '{DAY}' then ({day})::date end"
        return f"case when {of_type} = 'string' then {_of('v', value, found)} end"
    if kind not in ("integer", "timestamp", "number", "decimal"):
        return value
    is_scalar = f"{of_type} in ('number', 'string')"
    integer = _of(
        "v",
        value,
        f"case when v ~ '^[+-]?[0-9]+$' and length(v) <= {DIGITS_MAX} then case when v::numeric "
        "between -9223372036854775808 and 9223372036854775807 then v::bigint end "
        # Such as 5.0 and 1e3.
        f"when v ~ '{NUMBER}' and v !~ '{LONG_DECIMAL}' and length(v) <= {DIGITS_MAX} then "
        + _of("n", "v::numeric", f"case when n = trunc(n) and abs(n) < {EXACT} then n::bigint end")
        + " end",
    )
    if kind == "integer":
        return f"case when {is_scalar} then {integer} end"
    if kind == "timestamp":
        per_second = 1_000_000 // MICROSECONDS.get(unit, 1_000_000)
        time = (
            f"case when i <> 0 and i >= {YEAR_1 * per_second} and i < {YEAR_10000 * per_second} "
            f"then {timestamp_sql(f'i * {1_000_000 // per_second}')} end"
        )
        return f"case when {is_scalar} then {_of('i', integer, time)} end"
    rounded = (
        f"case when abs(n) >= {TOO_LARGE} then null when abs(n) <= {TOO_SMALL} then 0 "
        "else n::double precision end"
    )
    condition = f"v ~ '{NUMBER}' and length(v) <= {DIGITS_MAX}"
    if kind == "decimal":
        condition += f" and v !~ '{LONG_DECIMAL}'"
    number = (
        f"case when {condition} then case when v ~ '{LONG_EXPONENT}' then "
        "case when v ~ '[eE]-' or v ~ '^[+-]?[0.]+[eE]' then 0::double precision end else "
        + _of("n", "v::numeric", rounded)
        + " end end"
    )
    return f"case when {is_scalar} then {_of('v', value, number)} end"


def timestamp_sql(column: str) -> str:
    """The expression of a column of microseconds as a point in time."""
    # An interval times a number is computed in floating point, exactly only for whole seconds.
    return (
        f"(timestamptz 'epoch' + (({column})::bigint / 1000000) * interval '1 second' "
        f"+ (({column})::bigint % 1000000) * interval '1 microsecond')"
    )


def _of(name: str, value: str, expression: str) -> str:
    """An expression of a value that is evaluated once, under a name."""
    return f"(select {expression} from (select {value} as {name} offset 0) as named)"
