"""The name that a caller probably meant: another library's name for it, or the nearest one."""

from __future__ import annotations

from collections.abc import Iterable

from boardlot import _core

_SINCE = "begin from from_ start_date start_time date_from from_date begin_time"
_INSTRUMENT = "symbols ticker stock security instrument"
_PASSWORD = "pass pwd secret key_password"
_LIMIT = "limit n count size nrows max_rows max_results"

# Names of this package, and those that other libraries have for the same.
ELSEWHERE = {
    "auth": "api_key credentials key token key_id private_key api_secret bearer",
    "base_url": "url host endpoint",
    "ca_file": "ca_bundle cafile",
    # Elsewhere, `cert` is that of the client itself.
    "client_cert": "cert client_certificate certfile cert_file",
    "proxy": "proxies",
    "timeout": "timeout_seconds request_timeout read_timeout",
    "max_retries": "retries retry",
    "rate_limit": "limit qps rps max_rps requests_per_second",
    "max_connections": "pool_size connections",
    "connect_timeout": "connection_timeout",
    "headers": "header default_headers",
    "query": "params",
    "body": "json data payload",
    "start": f"since {_SINCE}",
    "end": "until to to_ stop end_date end_time date_to to_date",
    "key_id": "id api_key app_key access_key key name",
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
    "password": f"passphrase {_PASSWORD}",
    "passphrase": f"password {_PASSWORD}",
    "private_key": "key key_file key_path path file pem secret secret_key private_key_path",
    "client_secret": "secret app_secret",
    "redirect_uri": "redirect_url callback callback_url",
    "redirect_uris": "redirect_uri redirect_url redirect_urls callback callback_url",
    "redirect_port": "port",
    "client_name": "name app_name",
    "store": "token_store storage cache path",
    "user": "user_id username",
    "algorithm": "algo alg kind type",
    "bits": "key_size size length",
    "burst": "capacity max_burst bucket_size",
    "rate": "limit qps rps requests_per_second calls",
    "seed": "random_state random_seed",
    "today": "date now day",
    "token_lifetime": "expires_in lifetime ttl",
    "clock_offset": "clock_skew skew offset",
    "latency": "delay sleep",
    "error_rate": "failure_rate errors",
    "paging": "pagination pages",
    "target": "path file filename database url",
    "wait": "timeout lock_timeout",
    "max_items": _LIMIT,
    "record": "fields schema columns",
    "unique": "key unique_key id",
    "dividends": "symbols symbol",
    "fills": "accounts account trades deals",
}

# Names of other libraries for what this package may lack: one that is spelled alike is another.
OTHERS = frozenset(["cert", "certfile", "cert_file", "keyfile", "key_file", "max_redirects"])

_FRAMES = "ask the result for it: `.to_pandas(decimals='decimal')`, or `.to_dicts(typed=True)`"
_ZONES = "times are UTC: convert the column, frame['create_time'].dt.tz_convert('Asia/Hong_Kong')"
_NO_RANGE = "the method has no time range: select rows of the frame that `.to_pandas()` returns"
_ROWS = "the result is a list: `[:5]` are its first rows"
_VERIFIED = (
    "certificates are always verified; to trust those of your own authority, pass ca_file='FILE'"
)

_FAULTS = "latency delay error_rate drop_rate truncate_rate throttle_rate html_rate"
_SCOPES = "the user chooses the scopes on the service's page"

# Advice in place of an argument: its names elsewhere, names by one of which the callables are
# recognized, and the sentence, in which `{name}` is what the caller wrote.
INSTEAD = (
    ("verify verify_ssl ssl ssl_context insecure check_hostname", "ca_file", _VERIFIED),
    (_FAULTS, "token_lifetime", "pass faults=Faults({name}=...), or set `sandbox.faults`"),
    ("scope scopes", "redirect_port redirect_uri redirect_uris", _SCOPES),
    ("open_browser", "redirect_port", "it opens none: send the user to `flow.url`"),
    (_LIMIT, "resume", "rows are limited by `.all(max_items=5)`"),
    (_LIMIT, "acc_id", _ROWS),
    (_LIMIT, "symbol", _ROWS),
    ("tz timezone time_zone", "decimals", _ZONES),
    ("start end since until", "symbol plate_code", _NO_RANGE),
    ("decimals typed", "acc_id", _FRAMES),
    ("decimals typed", "symbol", _FRAMES),
    (
        "page page_token cursor offset",
        "resume",
        "pages follow by themselves: iterate, or call `.all()`",
    ),
)


def nearest_name(name: str, known: Iterable[str]) -> str | None:
    """The known name for a name of other libraries, otherwise the name spelled most alike."""
    names = list(known)
    for ours, others in ELSEWHERE.items():
        if ours in names and name in others.split():
            return ours
    if name in OTHERS:
        return None
    return _core._nearest(name, names)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'dividends'?`, what to do instead, or nothing."""
    names = list(known)
    for others, ours, text in INSTEAD:
        if name in others.split() and not {*ours.split()}.isdisjoint(names):
            return f"; {text.replace('{name}', name)}"
    near = nearest_name(name, names)
    return f"; did you mean '{near}'?" if near else ""
