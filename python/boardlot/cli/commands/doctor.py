"""`boardlot doctor`: checks each stage of a request, and says what to do about failures."""

from __future__ import annotations

from collections.abc import Iterator

import click

from boardlot._support.tables.cell_format import clean
from boardlot.cli.click_classes import DataCommand
from boardlot.cli.numbers import Number
from boardlot.cli.output.emit import check_out, emit
from boardlot.cli.output.terminal import colored, note
from boardlot.cli.settings import Settings
from boardlot.cli.statuses import FAILED
from boardlot.doctor import Finding, examine

COLORS = {"ok": "green", "failed": "red", "skipped": "yellow"}


@click.command(
    "doctor",
    cls=DataCommand,
    output="text",
    params=[
        click.Option(
            ["--timeout"],
            type=Number(0, 86_400, min_open=True),
            default=10.0,
            show_default=True,
            help="Seconds that a step may wait for a response.",
        )
    ],
    examples=[
        "boardlot --profile live doctor",
        "boardlot --base-url https://api.example.com doctor --format json",
    ],
)
@click.pass_obj
def doctor(settings: Settings, timeout: float) -> int:
    """Check each stage of a request: what works, what fails, and what to do.

    The steps are the settings, the proxy, the name, the connection, TLS, the service, the clock,
    and then the key or the login with its scopes. A step that depends on a failed one is skipped.
    No secrets are shown. With --format or --out each step is a row of data.

    The exit status is 3 if a step failed.
    """
    check_out(settings)
    settings.check()
    findings = examine(
        settings.base_url,
        auth=settings.auth if settings.credentials else None,
        profile=settings.profile_name,
        timeout=timeout,
        rate_limit=settings.request_rate,
        **settings.connection,
    )
    if settings.format is None and settings.out is None:
        found = list(_printed(findings))
    else:
        found = list(findings)
        emit(settings, [finding._asdict() for finding in found])
    failed = [finding.step for finding in found if finding.state == "failed"]
    if failed:
        note(f"failed: {', '.join(failed)}", "error")
    return FAILED if failed else 0


def _printed(findings: Iterator[Finding]) -> Iterator[Finding]:
    """The findings, each printed as it comes."""
    for finding in findings:
        state = f"{finding.state:<8}"
        if colored():
            state = click.style(state, fg=COLORS[finding.state])
        # Text from the service and its certificate must not control the terminal.
        click.echo(f"{state} {finding.step:<12} {clean(finding.detail)}")
        if finding.hint:
            click.echo(f"{'':<22}{clean(finding.hint)}")
        yield finding
