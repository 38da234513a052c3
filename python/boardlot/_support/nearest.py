"""The name that a caller probably meant: that of another library's habit, or the nearest one."""

from __future__ import annotations

from collections.abc import Iterable

from boardlot import _core

_SINCE = "begin from from_ start_date start_time date_from from_date begin_time"
_INSTRUMENT = "symbols ticker stock security instrument"
_LIMIT = "limit n count size nrows max_rows max_results"

# Names of this package, and those that other libraries have for the same.
ELSEWHERE = {
    "auth": "api_key credentials key token",
    "base_url": "url host endpoint",
    "ca_file": "ca_bundle cert cafile",
    "proxy": "proxies",
    "timeout": "timeout_seconds request_timeout read_timeout",
    "max_retries": "retries retry",
    "query": "params",
    "body": "json data payload",
    "start": f"since {_SINCE}",
    "end": "until to to_ stop end_date end_time date_to to_date",
    "code": f"symbol {_INSTRUMENT}",
    "symbol": f"code {_INSTRUMENT}",
    "trd_side": "side",
    "qty": "quantity size shares volume",
    "updated_time": "time timestamp date datetime",
    "ex_date": "date",
    "out": "output outfile",
    "plate_code": "symbol code plate plate_id",
    "acc_id": "account account_id accid user_id",
    "trd_market": "market exchange trading_market",
    "concurrency": "workers max_workers n_jobs threads",
    "on_error": "errors raise_on_error ignore_errors",
    "password": "passphrase",
    "passphrase": "password",
    "private_key": "key key_file secret secret_key private_key_path",
    "max_items": _LIMIT,
    "record": "fields schema columns",
    "unique": "key unique_key id",
    "dividends": "symbols symbol",
    "fills": "accounts account trades deals",
}

_FRAMES = "ask the result for it: `.to_pandas(decimals='decimal')`, or `.to_dicts(typed=True)`"
_ROWS = "the result is a list: `[:5]` are its first rows"
_VERIFIED = (
    "certificates are always verified; to trust those of your own authority, pass ca_file='FILE'"
)

# Advice in place of an argument: its names elsewhere, a name by which the callables are
# recognized, and the sentence.
INSTEAD = (
    ("verify verify_ssl ssl ssl_context insecure check_hostname", "ca_file", _VERIFIED),
    (_LIMIT, "resume", "rows are limited by `.all(max_items=5)`"),
    (_LIMIT, "acc_id", _ROWS),
    (_LIMIT, "symbol", _ROWS),
    ("decimals typed", "acc_id", _FRAMES),
    ("decimals typed", "symbol", _FRAMES),
    (
        "page page_token cursor offset",
        "resume",
        "pages follow by themselves: iterate, or call `.all()`",
    ),
)


def nearest_name(name: str, known: Iterable[str]) -> str | None:
    """The known name that other libraries call so, otherwise the one that is spelled most alike."""
    names = list(known)
    for ours, others in ELSEWHERE.items():
        if ours in names and name in others.split():
            return ours
    return _core._nearest(name, names)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'dividends'?`, what to do instead, or nothing."""
    names = list(known)
    for others, ours, text in INSTEAD:
        if ours in names and name in others.split():
            return f"; {text}"
    near = nearest_name(name, names)
    return f"; did you mean '{near}'?" if near else ""
