"""What an installed boardlot must do, by the standard library alone: `python installed.py [extra]`.

Without an extra: in an environment that has nothing else. `test_wheel.py` and the release workflow
run it in the environments that they make. It raises where something is amiss.
"""

import asyncio
import contextlib
import importlib
import io
import json
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable
from importlib.metadata import distribution, requires
from pathlib import Path
from typing import Any


def check(extra):
    """Checks the package, and what the extra brings or, without one, says of its absence."""
    loaded = import_boardlot()
    expect(not loaded & NOT_LOADED, f"importing boardlot loaded {loaded & NOT_LOADED}")
    files()
    with sandbox() as (bl, server, client):
        calls(bl, server, client)
        if extra is None:
            nothing_is_required()
            for function, hint in missing(client):
                refusal(function, hint)
            command_line_is_missing()
        else:
            for brought in EXTRAS[extra]:
                brought(client)
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        expect(not sys._is_gil_enabled(), "the lock of the interpreter is on again")


def expect(holds, otherwise):
    # Not `assert`, which `python -O` leaves out.
    if not holds:
        raise SystemExit(f"installed.py: {otherwise}")


# Each costs more than all of `import boardlot` may.
NOT_LOADED = {"asyncio", "dataclasses", "pandas", "polars", "pyarrow", "tqdm", "click", "dask"}


def import_boardlot():
    """The modules that a fresh interpreter has loaded after `import boardlot`."""
    code = "import sys, boardlot; print(boardlot.__file__); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True
    )
    path, modules = done.stdout.splitlines()
    inside = Path(path).is_relative_to(sysconfig.get_path("platlib"))
    expect(inside, f"{path} is not what was installed")
    return set(modules.split())


def files():
    held = [str(file) for file in distribution("boardlot").files or []]
    licences = [f"licenses/{name}" for name in ("LICENSE-MIT", "LICENSE-APACHE")]
    for wanted in (*licences, "licenses/THIRD-PARTY-NOTICES", "sboms/", "py.typed"):
        expect(any(wanted in file for file in held), f"{wanted} is not installed")


@contextlib.contextmanager
def sandbox():
    import boardlot as bl

    with bl.Sandbox(seed=7) as server, tempfile.TemporaryDirectory() as folder:
        # A client whose key lies in a file can be sent to other processes, as dask does.
        key, file = bl.generate_key(), Path(folder, "key.pem")
        file.touch(mode=0o600)
        file.write_text(key.private_pem)
        auth = bl.ApiKey(server.upload_key(key.public_pem), file)
        with bl.Client(server.base_url, auth=auth) as client:
            yield bl, server, client


def calls(bl, server, client):
    dividends = client.dividends("HK.00700")
    expect(dividends[0]["currency"] == "HKD", "a dividend has another currency")
    account = server.accounts["trade"][0]
    expect(sum(1 for _ in client.fills_history(account, "HK")) == 2000, "fills are missing")
    try:
        client.dividends("no symbol!")
    except bl.ConfigError:
        pass
    else:
        expect(False, "a wrong symbol was sent")

    async def twice():
        async with server.async_client() as many:
            return await asyncio.gather(many.dividends("HK.00700"), many.dividends("US.AAPL"))

    expect(all(asyncio.run(twice())), "the async client gave nothing")


def nothing_is_required():
    needed = [need for need in requires("boardlot") or [] if "extra ==" not in need]
    expect(not needed, f"the base needs {needed}")


def missing(client):
    """What needs an extra, and what it must say without."""
    records = client.dividends("HK.00700")
    yield records.to_pandas, "to_pandas() needs pandas: pip install 'boardlot[pandas]'"
    yield records.to_polars, "to_polars() needs polars: pip install 'boardlot[polars]'"
    yield records.to_arrow, "to_arrow() needs pyarrow: pip install 'boardlot[arrow]'"
    yield plot(client), "plots.dividends() needs matplotlib: pip install 'boardlot[notebook]'"
    yield dask(client), "boardlot.dask needs dask: pip install 'boardlot[dask]'"
    yield (
        engine("polars"),
        ("boardlot.polars needs polars 1.22 or newer: pip install -U 'boardlot[polars]'"),
    )
    yield engine("ray"), "boardlot.ray needs Ray 2.60 or newer: pip install -U 'boardlot[ray]'"
    yield (
        engine("spark"),
        "boardlot.spark needs Spark 4.1 or newer: pip install -U 'boardlot[spark]'",
    )
    yield (
        postgres_archive,
        ("an archive in PostgreSQL needs psycopg: pip install 'boardlot[postgres]'"),
    )
    yield ical(client), "to_ical() needs icalendar: pip install 'boardlot[calendar]'"
    yield (
        instrumented(client),
        "boardlot.otel needs opentelemetry-api: pip install 'boardlot[otel]'",
    )
    yield (
        interactive_chart(client),
        "plots.interactive needs altair: pip install 'boardlot[interactive]'",
    )


def engine(name):
    return lambda: importlib.import_module(f"boardlot.{name}")


def refusal(function, hint):
    try:
        function()
    except ImportError as error:
        expect(str(error) == hint, f"{str(error)!r} instead of {hint!r}")
    else:
        expect(False, f"nothing said {hint!r}")


def command_line_is_missing():
    done = command("--help")
    hint = "boardlot: the command line needs click: pip install 'boardlot[cli]'\n"
    expect((done.returncode, done.stderr) == (1, hint), f"the command said {done.stderr!r}")


def command(*arguments):
    return subprocess.run([script(), *arguments], capture_output=True, text=True)


def script():
    suffix = ".exe" if sys.platform == "win32" else ""
    return Path(sysconfig.get_path("scripts"), "boardlot").with_suffix(suffix)


def arrow(client):
    table = client.dividends("HK.00700").to_arrow()
    expect(table.num_rows == len(client.dividends("HK.00700")), "rows are missing in Arrow")


def pandas(client):
    frame = client.dividends("HK.00700").to_pandas()
    expect(frame.dividend_per_share.dtype == "float64", "a number is no number in pandas")


def polars(client):
    expect(client.dividends("HK.00700").to_polars().height, "rows are missing in polars")


def progress(client):
    import boardlot._support.progress

    boardlot._support.progress.DELAY = 0.0  # Else short work has no bar.
    with contextlib.redirect_stderr(io.StringIO()) as drawn:
        client.fetch_many("dividends", ["HK.00700", "US.AAPL"], progress=True)
    expect("2/2" in drawn.getvalue(), f"no bar was drawn: {drawn.getvalue()!r}")


def cli(client):
    done = command("--help")
    expect("Usage: boardlot" in done.stdout, f"no usage: {done.stdout!r} {done.stderr!r}")


def notebook(client):
    import ipykernel  # noqa: F401
    import matplotlib

    matplotlib.use("agg")
    expect(plot(client)().get_title(), "the chart has no title")


def plot(client):
    from boardlot import plots

    return lambda: plots.dividends(client.dividends("HK.00700"))


def calendar(client):
    expect("BEGIN:VEVENT" in str(ical(client)()), "no event in iCalendar's form")


def ical(client):
    return lambda: client.ipo_calendar(["hk"]).to_ical()


def dask_frame(client):
    frame = dask(client)().compute(scheduler="threads")
    expect(set(frame.symbol) == {"HK.00700", "US.AAPL"}, "a partition is missing")


def dask(client):
    def frame():
        from boardlot.dask import from_keys

        return from_keys(client, "dividends", ["HK.00700", "US.AAPL"], npartitions=2)

    return frame


def postgres_archive():
    # Nothing listens on port 1: with the driver, this is an error of the connection.
    import boardlot

    return boardlot.Archive("postgresql://nobody@127.0.0.1:1/none")


def postgres(_client):
    import boardlot

    try:
        postgres_archive()
    except boardlot.StoreError as error:
        expect("cannot be used" in str(error), f"the archive said {error}")
    else:
        expect(False, "an archive without a server was opened")


def otel(client):
    # The API alone measures nothing, and stops nothing.
    instrumented(client)()
    expect(len(client.dividends("HK.00700")), "an instrumented client gave nothing")


def instrumented(client):
    def instrument():
        from boardlot.otel import instrument

        instrument(client)

    return instrument


def mcp(client):
    greeting = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "installed.py", "version": "1"},
        },
    }
    with subprocess.Popen(
        [script(), "mcp", "--demo"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps(greeting) + "\n")
        process.stdin.flush()
        response = json.loads(process.stdout.readline())
        process.stdin.close()
    expect(response["result"]["serverInfo"]["name"] == "boardlot", f"it greeted with {response}")


def interactive(client):
    import itables  # noqa: F401

    chart = interactive_chart(client)().to_dict()
    expect(chart["title"], "the interactive chart has no title")


def interactive_chart(client):
    def chart():
        from boardlot.plots import interactive

        return interactive.dividends(client.dividends("HK.00700"))

    return chart


EXTRAS: dict[str, tuple[Callable[[Any], None], ...]] = {
    "arrow": (arrow,),
    "pandas": (pandas, arrow),
    "polars": (polars,),
    "progress": (progress,),
    "cli": (cli, progress),
    "notebook": (notebook, pandas, arrow),
    "calendar": (calendar,),
    "dask": (dask_frame, pandas, arrow),
    "postgres": (postgres,),
    "otel": (otel,),
    "mcp": (mcp, cli),
    "interactive": (interactive, pandas, arrow),
    "all": (
        *(arrow, pandas, polars, progress, cli, notebook, calendar, dask_frame),
        *(postgres, otel, mcp, interactive),
    ),
}

if __name__ == "__main__":
    check(sys.argv[1] if len(sys.argv) > 1 else None)
