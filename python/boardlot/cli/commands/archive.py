"""`boardlot archive`: keeps data that the service forgets, and reads it later."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

import click

from boardlot._support.messages.nearest import did_you_mean
from boardlot._support.tables.cell_format import escaped, shown_second
from boardlot.archive import Archive, Finding, UpdateReport
from boardlot.archive.arguments import (
    EVERY_MIN,
    SECONDS_MAX,
    Refused,
    check_new,
    lists_of,
    server_address,
)
from boardlot.archive.lists import LISTS, ListName, Series
from boardlot.cli.click_classes import Argument, CommandGroup, DataCommand
from boardlot.cli.commands.endpoints import parse_time
from boardlot.cli.files import UserPath
from boardlot.cli.numbers import Number, Whole
from boardlot.cli.output.emit import check_destination, emit
from boardlot.cli.output.plain_rows import PlainRows
from boardlot.cli.output.terminal import logged_outages, note, write
from boardlot.cli.settings import Settings
from boardlot.cli.statuses import FAILED, members_of, status_of_all
from boardlot.errors import ArchiveUpdateError


class _File(click.types.StringParamType):
    """The path of an archive, or the address of a PostgreSQL database."""

    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if server_address(str(value)) is not None:
            return str(value)
        if value == ":memory:":
            self.fail("':memory:' is lost when the command ends; expected a file", param, ctx)
        return str(UserPath().convert(value, param, ctx))


class _Key(click.types.StringParamType):
    """A key of a list."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        first, comma, second = str(value).partition(",")
        if comma and param is not None:
            keys = (first.strip(), second.partition(",")[0].strip())
            usage = " ".join(f"{param.opts[0]} {key}" for key in keys)
            self.fail(f"{value!r} has a comma; expected one key at a time: {usage}", param, ctx)
        return str(value)


def _account(text: str, option: str = "--fills") -> tuple[str, str]:
    """An account and a trading market, such as 281756:HK."""
    acc_id, colon, trd_market = text.rpartition(":")
    if not colon:
        raise click.UsageError(f"{option} is {text!r}; expected ACC_ID:MARKET, such as 281756:HK")
    return acc_id, trd_market


UPDATE = "boardlot --profile live archive update trades.db"
# The seconds for which another process may write to an archive that is restored.
WAIT = 30.0
# The largest value of `--overlap-days`: a century.
DAYS_MAX = 36_525
# The option of each list, with a text about its keys and one about its data.
LIST_OPTIONS = {
    "crypto_orders": ("ACC_ID", "Open crypto orders of an account"),
    "sim_orders": ("ACC_ID", "Simulated orders of an account"),
    "sim_positions": ("ACC_ID", "Simulated positions of an account"),
    "ipos": ("MARKET", "IPOs of a market"),
    "dividends": ("SYMBOL", "Dividends of a stock"),
    "futures": ("SYMBOL", "Related futures of a symbol"),
    "plates": ("PLATE", "Stocks of a plate"),
}


def _file(created: str = "") -> Argument:
    text = f"A SQLite file{created}, or postgresql://USER@HOST/DATABASE."
    return Argument("file", text, metavar="FILE", type=_File())


def _fills(**more: Any) -> click.Option:
    return click.Option(["--fills"], type=_account, metavar="ACC_ID:MARKET", **more)


def _ranges() -> list[click.Parameter]:
    return [
        click.Option(
            ["--start"],
            type=parse_time,
            metavar="TIME",
            help="How far back to read fills; the first update reads 90 days.",
        ),
        _days("--overlap-days", "How long before the newest stored fill an update starts."),
    ]


def _days(name: str, text: str) -> click.Option:
    days = Number(0, DAYS_MAX)
    return click.Option([name], type=days, default=7.0, show_default=True, help=text)


@click.group(
    "archive",
    cls=CommandGroup,
    examples=[f"{UPDATE} --fills 281756:HK", f"{UPDATE} --plates HK.BK1001 --dividends HK.00700"],
)
def archive() -> None:
    """Keep data that the service forgets in a file or a PostgreSQL database, and read it later."""


@archive.command(
    "update",
    cls=DataCommand,
    params=[
        _file(", created if it does not exist"),
        _fills(multiple=True, help="Fills of an account in a market; repeat it for more."),
        *(
            click.Option(
                [f"--{name.replace('_', '-')}", name],
                type=_Key(),
                metavar=metavar,
                multiple=True,
                help=f"{content}; repeat it for more.",
            )
            for name, (metavar, content) in LIST_OPTIONS.items()
        ),
        *_ranges(),
        click.Option(
            ["--max-age-minutes"],
            type=Number(0, DAYS_MAX * 24 * 60),
            help="Skip lists that were read completely within this time.",
        ),
        click.Option(
            ["--windows"],
            type=Whole(0),
            metavar="N",
            help="Read the fills of a range in N windows side by side; by default, by one cursor.",
        ),
    ],
    examples=[
        f"{UPDATE} --fills 281756:HK --ipos hk",
        f"{UPDATE} --plates HK.BK1001 --dividends HK.00700",
    ],
)
@click.pass_obj
def update(
    settings: Settings,
    /,
    file: str,
    fills: Sequence[tuple[str, str]],
    start: str | int | None,
    overlap_days: float,
    max_age_minutes: float | None,
    windows: int | None,
    **keys: Any,
) -> int:
    """Read lists, and store what is new, changed or gone.

    If the command is killed, run it again: it continues where it ended. A list that fails
    does not stop the others; the exit status is then 1 if a later update may succeed, otherwise 3.
    """
    if not fills and not any(keys.values()):
        options = ", ".join(f"--{name.replace('_', '-')}" for name in ("fills", *keys))
        raise click.UsageError(f"nothing to update: pass one or more of {options}")
    _check_keys(fills, keys)
    check_destination(settings, _files_of(file))
    with settings.client() as client, Archive(file) as archive:
        report = _completed(
            archive.update,
            client,
            fills=fills,
            start=start,
            overlap=timedelta(days=overlap_days),
            max_age=None if max_age_minutes is None else timedelta(minutes=max_age_minutes),
            windows=windows,
            progress=settings.out is not None and not settings.quiet,
            **keys,
        )
    return _reported(settings, report, "updated")


def _reported(settings: Settings, report: UpdateReport, done: str) -> int:
    """Show a report, and return the exit status."""
    emit(settings, list(report.rows()))
    if settings.log_format == "json":
        for row in report.rows():
            if not row["error"]:
                write(settings, "info", f"{done} {row['list']} {row['key']}", "", **row)
    errors = list(report.errors.values())
    for reason, error in zip(report._reasons(), errors, strict=True):
        write(settings, "error", reason, f"boardlot: {escaped(reason)}", **members_of(error))
    if settings.log_format == "text":
        for hint in dict.fromkeys(error.hint for error in errors if error.hint):
            note(f"hint: {escaped(hint)}", "error")
    return status_of_all(errors)


def _completed(work: Callable[..., Any], client: Any, **options: Any) -> UpdateReport:
    """The report of an update, even if some lists failed; an invalid key is an error."""
    report: UpdateReport
    try:
        report = work(client, **options)
    except ArchiveUpdateError as error:
        report = error.report
    return report


@archive.command(
    "verify",
    cls=DataCommand,
    params=[
        _file(),
        _fills(
            multiple=True,
            required=True,
            help="Fills of an account in a market; repeat it for more.",
        ),
        click.Option(
            ["--start"],
            type=parse_time,
            metavar="TIME",
            help="Verify fills from this time on; by default, all that was ever read. Old ones "
            "that are not listed are then gone, too.",
        ),
        click.Option(
            ["--accept-gone"],
            is_flag=True,
            help="Accept that nothing is listed, or that more than 10 fills and 1 % are gone.",
        ),
    ],
    examples=[
        f"{UPDATE} --fills 281756:HK && "
        "boardlot --profile live archive verify trades.db --fills 281756:HK"
    ],
)
@click.pass_obj
def verify(
    settings: Settings,
    /,
    file: str,
    fills: Sequence[tuple[str, str]],
    start: str | int | None,
    accept_gone: bool,
) -> int:
    """Read all fills again that an archive covers, and store what differs.

    Fills that the archive lacks are added, others are corrected, and those that the service no
    longer lists are gone: they leave fills and stay in fills_history. If the command is killed, run
    it again: it begins again.
    """
    with _existing(settings, file) as archive, settings.client() as client:
        report = _completed(
            archive.verify,
            client,
            fills=fills,
            start=start,
            accept_gone=accept_gone,
            progress=settings.out is not None and not settings.quiet,
        )
    return _reported(settings, report, "verified")


@archive.command(
    "status",
    cls=DataCommand,
    params=[_file()],
    examples=[f"{UPDATE} --ipos hk && boardlot archive status trades.db"],
)
@click.pass_obj
def status(settings: Settings, file: str) -> None:
    """Show what an archive contains: a row for each list."""
    with _existing(settings, file) as archive:
        rows = archive.status()
    times = ("read_at", "from", "until")
    emit(settings, [{**row, **{name: str(row[name] or "") for name in times}} for row in rows])


@archive.command(
    "export",
    cls=DataCommand,
    output="force",
    params=[
        _file(),
        Argument(
            "name",
            "fills, or another list.",
            metavar="LIST",
            type=click.Choice(["fills", *LISTS]),
        ),
        Argument("path", "The Parquet file.", metavar="PATH", type=UserPath()),
        click.Option(["--key"], metavar="KEY", help="Only this key; of fills, ACC_ID:MARKET."),
        click.Option(
            ["--at"], type=parse_time, metavar="TIME", help="The list as it was seen at this time."
        ),
        click.Option(
            ["--history"],
            is_flag=True,
            help="Every version of a record, with the time at which it was seen.",
        ),
    ],
    examples=[
        "boardlot archive export trades.db fills fills.parquet --key 281756:HK",
        f"{UPDATE} --ipos hk && boardlot archive export trades.db ipos ipos.parquet",
    ],
)
@click.pass_obj
def export(
    settings: Settings,
    file: str,
    name: ListName | Literal["fills"],
    path: Path,
    key: str | None,
    at: str | int | None,
    history: bool,
) -> None:
    """Write a list as it is now to a Parquet file."""
    if path.exists() and not settings.force:
        raise click.UsageError(f"{path} already exists: choose another, or add --force")
    with _existing(settings, file) as archive:
        of_key = _account(key, "--key") if name == "fills" and key is not None else key
        rows = archive.export(name, path, of_key, at, history=history)
    note(f"wrote {rows:,} rows to {path}")


@archive.command(
    "sql",
    cls=DataCommand,
    params=[_file(), Argument("query", "One statement of SQL.", metavar="QUERY")],
    examples=[
        f"{UPDATE} --fills 281756:HK && "
        'boardlot archive sql trades.db "select code, sum(qty) as traded from fills group by 1"',
    ],
)
@click.pass_obj
def sql(settings: Settings, file: str, query: str) -> None:
    """Show the result of a query over the views of an archive.

    The views are fills, each list's last content by its name, and its changes as ..._history.
    """
    if re.match(r"\s*(select|with|values)\b", file, re.IGNORECASE):
        raise click.UsageError("FILE is a query: the archive comes first, and the query after it")
    with _existing(settings, file) as archive:
        result = archive.sql(query)
    emit(settings, PlainRows(result.to_dicts(), result.columns))


@archive.command(
    "check",
    cls=DataCommand,
    params=[
        _file(),
        _days("--unread-days", "After how many days without a complete read a list is reported."),
    ],
    examples=[f"{UPDATE} --ipos hk && boardlot archive check trades.db"],
)
@click.pass_obj
def check(settings: Settings, file: str, unread_days: float) -> int:
    """Show the problems of an archive's contents.

    Spans of fills that were not read, ids that were sent twice with different contents, dividends
    that were restated, lists that were not read for long, and values that are null in the views as
    they are not of their field's type. If there are any, the exit status is 3.
    """
    with _existing(settings, file) as archive:
        found = archive.check(unread=timedelta(days=unread_days))
    columns = [field.name for field in dataclasses.fields(Finding)]
    emit(settings, PlainRows([dataclasses.asdict(one) for one in found], columns))
    for key, period in found.periods.items():
        first, last = map(shown_second, period)
        note(f"fills {key} are covered from {first} until {last}")
    return FAILED if found else 0


@archive.command(
    "backup",
    cls=DataCommand,
    output="nothing",
    params=[
        _file(),
        Argument("to", "The new file, which only you can read.", metavar="TO", type=UserPath()),
    ],
    examples=[f"{UPDATE} --ipos hk && boardlot archive backup trades.db backup.db"],
)
@click.pass_obj
def backup(settings: Settings, file: str, to: Path) -> None:
    """Copy an archive, which may be in use, into a new file.

    An archive in PostgreSQL is copied by `pg_dump`.
    """
    with _existing(settings, file) as archive:
        archive.backup(to)
    note(f"wrote {to}, which only you can read")


@archive.command(
    "restore",
    cls=DataCommand,
    output="nothing",
    params=[
        Argument("backup", "The backup, which is not changed.", metavar="BACKUP", type=_File()),
        Argument("file", "The archive, or a new file.", metavar="FILE", type=_File()),
    ],
    examples=[
        f"{UPDATE} --ipos hk && boardlot archive backup trades.db backup.db && "
        "boardlot archive restore backup.db trades.db",
    ],
)
@click.pass_obj
def restore(settings: Settings, backup: str, file: str) -> None:
    """Restore an archive from a backup, also after a crash.

    The archive may be in use: followers resume at their positions in the backup, and later fills
    are delivered again. A FILE that is a backup itself, or another archive, is left as it is. An
    archive in PostgreSQL is restored by `pg_restore`.
    """
    for name, given in (("BACKUP", backup), ("FILE", file)):
        if server_address(given) is not None:
            raise click.UsageError(
                f"{name} is an address: `pg_dump` backs up an archive in PostgreSQL, and "
                "`pg_restore --clean --if-exists` restores it"
            )
    if not os.path.lexists(file):
        check_new("FILE", file)
    from boardlot.archive.sqlite.backup import restore as restore_file

    restore_file(Path(backup), Path(file), WAIT)
    note(f"restored {file} as it was in {backup}")
    with Archive(file) as archive:
        followed = archive._followers()
    for series, name in followed:
        note(
            f"the follower {name!r} of fills {series} resumes at its position in the backup: later "
            "fills are delivered again",
            "warning",
        )


@archive.command(
    "follow",
    cls=DataCommand,
    output="nothing",
    params=[
        _file(", created if it does not exist"),
        _fills(required=True, multiple=True, help="The account and its market."),
        click.Option(
            ["--every"],
            type=Number(EVERY_MIN, SECONDS_MAX),
            default=5.0,
            show_default=True,
            help="Seconds between two requests.",
        ),
        click.Option(
            ["--name"],
            default="default",
            show_default=True,
            help="The name of this follower; each name has its own position.",
        ),
        *_ranges(),
        click.Option(
            ["--changes"],
            is_flag=True,
            help="Every change, with seen_at and change: also fills that are gone or back.",
        ),
    ],
    examples=["boardlot --profile live archive follow trades.db --fills 281756:HK"],
)
@click.pass_obj
def follow(
    settings: Settings,
    file: str,
    fills: tuple[tuple[str, str], ...],
    every: float,
    name: str,
    start: str | int | None,
    overlap_days: float,
    changes: bool,
) -> None:
    """Print each new or changed fill as a line of JSON, exactly once, until Ctrl-C or SIGTERM.

    A fill counts as delivered when the next one is written, also across restarts. An outage is
    reported on stderr when it begins and when it ends. A requested end is no error: the exit status
    is then 0.
    """
    if len(fills) > 1:
        raise click.UsageError(
            "--fills was passed more than once: run a `boardlot archive follow` for each account"
        )
    _check_keys(fills, {})
    out = sys.stdout.buffer
    # `Terminated`, on SIGTERM, is a `SystemExit`.
    ends = suppress(KeyboardInterrupt, SystemExit)
    # With `-v`, the whole log is written.
    logged = nullcontext() if settings.verbose else logged_outages(settings)
    with ends, logged, settings.client() as client, Archive(file) as archive:
        for fill in archive.follow(
            client,
            fills=fills[0],
            every=every,
            name=name,
            start=start,
            overlap=timedelta(days=overlap_days),
            changes=changes,
        ):
            out.write(json.dumps(fill).encode() + b"\n")
            out.flush()


def _check_keys(fills: Sequence[tuple[str, str]], keys: Mapping[str, Sequence[str]]) -> None:
    """Checks the keys of an update before its archive is created: a wrong one leaves no file."""
    for pair in fills:
        Series.checked(pair)
    for name, given in keys.items():
        lists_of(name, given, Refused(collect=False))


def _files_of(file: str) -> list[Path]:
    """The files of an archive, which no output may overwrite."""
    if server_address(file) is not None:
        return []
    from boardlot.archive.sqlite.files import files_of

    return files_of(Path(os.path.realpath(file)))


def _existing(settings: Settings, file: str) -> Archive:
    """An archive to read: a file that does not exist is not created."""
    check_destination(settings, _files_of(file))
    if "://" not in file and not Path(file).is_file():
        nearest = did_you_mean(Path(file).name, [one.name for one in Path(file).parent.glob("*")])
        raise click.UsageError(
            f"{file} does not exist: `boardlot archive update` creates it{nearest}"
        )
    return Archive(file)
