"""`--where` and `--sort`: the rows that each condition chooses, in every kind of column."""

import json
from datetime import datetime

import boardlot as bl
import pytest
from inline_snapshot import snapshot

from ..support.pages_of_fills import fills, serve
from ..support.vectors import table

CASES = table("conditions")


def micros(text):
    """Exactly: a float has no microseconds."""
    since = datetime.fromisoformat(text) - datetime.fromisoformat("1970-01-01T00:00:00+00:00")
    return (since.days * 86400 + since.seconds) * 10**6 + since.microseconds


def sent(row):
    """The row as the service sends it; CPython 3.10 reads fractions of three or six digits."""
    times = {name: row[name].replace(".5+", ".500+") for name in ("at", "clock") if name in row}
    return {**row, **{name: micros(text) for name, text in times.items()}}


@pytest.fixture(scope="module")
def things(service):
    """The arguments of a command that reads the rows of the cases."""
    record = ", ".join(f'{name} = "{kind}"' for name, kind in CASES["record"].items())
    file = service.key_file.with_name("things.toml")
    file.write_text(
        '[things]\nmethod = "GET"\npath = "/api/v9/things"\nrows = "data.list"\n'
        f"record = {{ {record} }}\n"
    )
    endpoint = bl.load_endpoints(file)["things"]
    service.sandbox.serve(endpoint, [sent(row) for row in CASES["rows"]])
    return ["call", "things", "--endpoints", file, "--format", "jsonl"]


@pytest.fixture
def chosen(things, live):
    def run(*options):
        done = live(*things, *options)
        assert done.status == 0, done.err
        return "".join(json.loads(line)["id"] for line in done.out.splitlines()), done.said

    return run


@pytest.mark.parametrize(("condition", "zone", "expected"), CASES["conditions"])
def test_a_condition_chooses(condition, zone, expected, chosen):
    assert chosen("--where", condition, *(["--tz", zone] if zone else [])) == (expected, "")


@pytest.mark.parametrize(("condition", "expected", "reason"), CASES["mixtures"])
def test_a_comparison_of_several_kinds_is_one_of_texts_and_says_so(
    condition, expected, reason, chosen
):
    warning = f"boardlot: warning: --where '{condition}' compares texts: {reason}"
    # With -q as well: the rows may not be those that were meant.
    assert chosen("--where", condition, "-q") == (expected, warning)


@pytest.mark.parametrize(("condition", "expected"), CASES["refused"])
def test_a_declared_field_is_compared_with_its_own_kind_alone(condition, expected, things, live):
    assert expected in live(*things, "--where", condition).refusal


@pytest.mark.parametrize(("order", "expected"), CASES["orders"])
def test_rows_are_sorted_by_what_texts_are_and_those_without_a_value_are_last(
    order, expected, chosen
):
    assert chosen("--sort", order) == (expected, "")


def test_a_column_of_several_kinds_is_sorted_as_text_and_says_so(chosen):
    ids, said = chosen("--sort", "mixed")
    assert ids == "bdacefghi"
    assert said == snapshot(
        "boardlot: warning: --sort mixed compares texts: '3' is a number, and mixed has "
        "'n/a', a text"
    )


@pytest.mark.parametrize(
    ("condition", "expected"), [("fee<3", "24"), ("fee>=3", "013"), ("fee=3.1", "03")]
)
def test_the_kind_of_a_text_is_that_of_all_pages(condition, expected, boardlot):
    pages = [
        ",".join(f'{{"deal_id":"{i}","fee":"{fee}"}}' for i, fee in page)
        for page in ([(0, "3.10"), (1, "10")], [(2, "2.5")], [], [(3, "3.1"), (4, "0.9")])
    ]
    call = ["fills", "1", "HK", "--format", "jsonl", "--where", condition]
    with serve(fills(*pages)) as server:
        done = boardlot("--base-url", server.base_url, *call)
    assert "".join(json.loads(line)["deal_id"] for line in done.out.splitlines()) == expected
    # One of the last page decides for all.
    with serve(fills(*pages, '{"deal_id":"5","fee":"free"}')) as server:
        done = boardlot("--base-url", server.base_url, *call)
    assert "fee has 'free', a text" in done.said


@pytest.mark.parametrize(
    "zone", ["Asia/Hong_Kng", "Asia", "../UTC", "/etc/passwd", "+08:00", "x\ny"]
)
def test_a_zone_that_does_not_exist_is_wrong_usage(zone, live):
    said = live("fills", "1", "HK", "--tz", zone).refusal
    assert "is not a time zone; expected one such as Asia/Hong_Kong" in said
    assert ("did you mean 'Asia/Hong_Kong'?" in said) is (zone == "Asia/Hong_Kng")
