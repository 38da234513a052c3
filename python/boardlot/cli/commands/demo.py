"""`boardlot demo`: shows the package on the sandbox in a few seconds."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO

import click

import boardlot as bl
from boardlot import plots
from boardlot._support.crash_safe import replacing
from boardlot._support.extras import needs
from boardlot._support.tables import text_and_html as tables
from boardlot.cli.click_classes import Command
from boardlot.cli.commands.endpoints import ENDPOINTS
from boardlot.cli.files import UserPath
from boardlot.cli.numbers import Whole
from boardlot.cli.output.fields import Fields
from boardlot.cli.settings import FORMATS

WIDTH = 80
INDENT = " " * 4
ROWS = 4
# The times of fills are long numbers, which say little to a reader.
FILL_COLUMNS = ("code", "trd_side", "qty", "price", "status", "stock_name")
LONGEST_HEADER = 50
TRADE_MARKET = "HK"
DIVIDENDS_OF = "HK.00700"
# Next steps: a service that stays, the data of the demo from a shell, and the whole docs.
NEXT = [
    "boardlot sandbox --seed 7 --profile demo",
    "boardlot --profile demo fills 281756 HK --limit 5",
    "boardlot open docs",
]


@click.command(
    "demo",
    cls=Command,
    output="nothing",
    examples=[
        "boardlot demo",
        "boardlot demo --seed 3 --out charts",
    ],
)
@click.option(
    "--out",
    metavar="FOLDER",
    default="boardlot-demo",
    show_default=True,
    type=UserPath(folder=True),
    help="Folder of the files; created if it does not exist.",
)
@click.option("--seed", type=Whole(0), default=7, show_default=True, help="Seed of the data.")
def demo(out: Path, seed: int) -> None:
    """Show everything without an account, on the sandbox.

    Starts the sandbox on this machine, pages through 2,000 fills, shows tables, writes the fills as
    Parquet and a chart as PNG, creates a key and shows what it signs, and logs in with OAuth.
    Without pyarrow the fills are written as CSV.
    """
    steps = count(1)
    with _timed(steps) as done:
        sandbox = bl.Sandbox(seed=seed)
        done("started the sandbox on this machine")
    with sandbox, sandbox.client() as client:
        account = sandbox.accounts["trade"][0]
        # One time range for every download below: they are compared with each other.
        end = client.server_time()
        span: dict[str, Any] = {"start": end - timedelta(days=90), "end": end}
        fills = _show_fills(steps, client, account, span)
        _show_tables(steps, sandbox, client)
        click.echo()
        pager = client.fills_history(account, TRADE_MARKET, **span)
        written = _write_files(steps, pager, fills, out)
        _show_signature(steps, sandbox, account)
        _show_login(steps, sandbox, account, span, fills)
    click.echo()
    for path in written:
        click.echo(f"{path}  {path.stat().st_size:,} bytes")
    click.echo(f"the files are in {out}" if written else "no file was written")
    click.echo("\nnext, in a second terminal while the first command runs:")
    for line in NEXT:
        click.echo(f"  {line}")


def _show_fills(
    steps: Iterator[int], client: Any, account: str, span: dict[str, Any]
) -> bl.Records[Any]:
    with _timed(steps) as done:
        pager = client.fills_history(account, TRADE_MARKET, **span)
        fills: bl.Records[Any] = pager.all()
        done(f"read {len(fills):,} fills in {pager.requests} requests")
    _show_table(fills, FILL_COLUMNS)
    return fills


def _show_tables(steps: Iterator[int], sandbox: Any, client: Any) -> None:
    crypto, sim = sandbox.accounts["crypto"][0], sandbox.accounts["sim"][0]
    wanted = [
        ("dividends", f"dividends of {DIVIDENDS_OF}", DIVIDENDS_OF),
        *(("ipos", f"IPOs of {market}", market) for market in ("hk", "us", "cn", "sg", "my")),
        ("sim-positions", "positions of simulated trading", sim),
        ("crypto-orders", "open crypto orders", crypto),
    ]
    for command, title, argument in wanted:
        click.echo()
        endpoint = ENDPOINTS[command]
        with _timed(steps) as done:
            records = getattr(client, endpoint.method)(argument)
            records = records.all() if endpoint.paged else records
            done(f"read {len(records)} {title}")
        _show_table(records, endpoint.key_columns)


def _show_table(records: bl.Records[Any], key_columns: Sequence[str]) -> None:
    rows = records[:ROWS]
    width = min(WIDTH, shutil.get_terminal_size().columns) - len(INDENT)
    layout = tables.Layout.of(rows, width, key_columns=key_columns)
    for line in [*layout.heading(), *layout.lines(rows)] if layout else ():
        click.echo(f"{INDENT}{line}".rstrip())
    if len(records) > len(rows):
        click.echo(f"{INDENT}… and {len(records) - len(rows):,} more")


def _write_files(steps: Iterator[int], pager: Any, fills: Sequence[Any], out: Path) -> list[Path]:
    """Write the rows of the pager, and a chart of these fills; returns the files."""
    out.mkdir(parents=True, exist_ok=True)
    form = "csv" if find_spec("pyarrow") is None else "parquet"
    jobs: list[tuple[str, str, Callable[[BinaryIO], None]]] = [
        (f"fills.{form}", "the fills", lambda file: _rows(pager, file, form)),
        ("fills.png", "a chart of them", lambda file: _chart(fills, file)),
    ]
    written = []
    for name, what, write in jobs:
        with _timed(steps) as done:
            try:
                with replacing((out / name).resolve()) as file:
                    write(file)
            except ImportError as missing:
                done(f"skipped {name}: {missing}")
                continue
            done(f"wrote {what}: {name}")
            written.append(out / name)
    return written


def _show_signature(steps: Iterator[int], sandbox: Any, account: str) -> None:
    click.echo()
    with _timed(steps) as done:
        key = bl.generate_key("Ed25519")
        auth = bl.ApiKey(sandbox.upload_key(key.public_pem), key.private_pem)
        path = f"/api/v1.0/accounts/{account}/fills_history"
        query: dict[str, Any] = {"trd_market": TRADE_MARKET, "page_flag": "", "page_size": 50}
        with bl.Client(sandbox.base_url, auth=auth) as client:
            explained = client.explain("GET", path, query=query)
        done("created a key, and signed a request: these five lines")
    names = ["timestamp", "method", "path", "query", "body hash"]
    for name, line in zip(names, explained.payload_lines, strict=True):
        click.echo(f"{INDENT}{name:<10} {line or '(empty)'}")
    for name, value in explained.headers.items():
        if name.lower() in ("x-api-key", "x-nonce", "authorization"):
            shown = value if len(value) <= LONGEST_HEADER else value[: LONGEST_HEADER - 1] + "…"
            click.echo(f"{INDENT}{name}: {shown}")


def _show_login(
    steps: Iterator[int], sandbox: Any, account: str, span: dict[str, Any], fills: Sequence[Any]
) -> None:
    """Log in, and read the same fills again, asynchronously."""
    click.echo()
    with _timed(steps) as done:
        flow = bl.begin_login(sandbox.base_url, store=bl.MemoryStore())
        # As the user does in the browser: allow the scopes, and be redirected.
        login = flow.finish(sandbox.authorize_demo_user(flow.url))
        done("logged in with OAuth; scopes:")
    click.echo(f"{INDENT}{', '.join(sorted(login.scopes))}")
    with _timed(steps) as done:
        again = asyncio.run(_fills_async(sandbox.base_url, login, account, span))
        if again != fills:
            raise click.ClickException("the asynchronous client returned different fills")
        done(f"read the same {len(again):,} fills again, asynchronously and with the login")


async def _fills_async(base_url: str, login: Any, account: str, span: dict[str, Any]) -> list[Any]:
    async with bl.AsyncClient(base_url, auth=login) as client:
        return [fill async for fill in client.fills_history(account, TRADE_MARKET, **span)]


def _rows(pager: Any, file: BinaryIO, form: str) -> None:
    writer = FORMATS[form].open(file, Fields())
    for page in pager._row_pages():
        writer.write(page)
    writer.end()


def _chart(fills: Sequence[Any], file: BinaryIO) -> None:
    with needs("matplotlib", "notebook", "the chart"):
        from matplotlib.figure import Figure
    # A bare figure needs no display and leaves the state of pyplot alone.
    figure = Figure(figsize=(10, 5.5), layout="constrained")
    plots.fills(fills, figure.add_subplot())
    figure.savefig(file, format="png", dpi=150)


@contextmanager
def _timed(steps: Iterator[int]) -> Iterator[Callable[[str], None]]:
    """Time a block, which reports its result through the callable, as a numbered line."""
    start = time.perf_counter()
    messages: list[str] = []
    yield messages.append
    seconds = time.perf_counter() - start
    span = f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"
    click.echo(f"{next(steps):>3} {' '.join(messages)} ({span})")
