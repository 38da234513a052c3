"""Findings of the doctor, by its steps, and the service that it examines."""

import socket

from boardlot import doctor

from ..support.service import StandInService

WAY = ["settings", "proxy", "name", "connection", "TLS", "service", "clock"]
SECRET = "hush-hush"


def served(context):
    """A service that returns its time to every client that accepts its certificate."""
    return StandInService(clock=0.0, context=context)


def found(*arguments, **options):
    findings = list(doctor.examine(*arguments, **options))
    shown = repr(findings)
    assert SECRET not in shown and "PRIVATE" not in shown
    for finding in findings:
        assert finding.detail
        # Where a setting is wrong, the detail says what is expected.
        is_setting = finding.step in ("settings", "credentials")
        assert finding.hint or is_setting or finding.state != "failed", finding
    return {finding.step: finding for finding in findings}


def states(findings):
    return {step: finding.state for step, finding in findings.items()}


def failed(findings):
    return [step for step, state in states(findings).items() if state == "failed"]


def closed_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]
