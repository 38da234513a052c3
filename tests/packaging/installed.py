"""Checks of an installed boardlot, by the standard library alone: `python installed.py [extra]`.

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
from importlib.metadata import distribution, requires
from pathlib import Path


def check(extra):
    """Checks the package, and what the extra brings or, without one, says of its absence."""
    loaded = import_boardlot()
    expect(not loaded & NOT_LOADED, f"importing boardlot loaded {loaded & NOT_LOADED}")
    files()
    with sandbox() as (bl, server, client):
        calls(bl, server, client)
        if extra is None:
            nothing_is_required()
            for uses, hint in MISSING.items():
                refusal(uses, client, hint)
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
NOT_LOADED |= {"decimal", "sqlite3", "psycopg", "boardlot.archive"}


def import_boardlot():
    """The modules that `import boardlot` loads in a fresh interpreter."""
    # Not those that the interpreter itself needs.
    code = "import sys; had = {*sys.modules}; import boardlot; print(boardlot.__file__); "
    code += "print(*{*sys.modules} - had)"
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True
    )
    path, modules = done.stdout.splitlines()
    inside = Path(path).is_relative_to(sysconfig.get_path("platlib"))
    expect(inside, f"{path} is not what was installed")
    return set(modules.split())


def files():
    held = [str(file) for file in distribution("boardlot").files or []]
    licenses = [f"licenses/{name}" for name in ("LICENSE-MIT", "LICENSE-APACHE")]
    for wanted in (*licenses, "licenses/THIRD-PARTY-NOTICES", "py.typed"):
        expect(any(wanted in file for file in held), f"{wanted} is not installed")


@contextlib.contextmanager
def sandbox():
    import boardlot as bl

    with bl.Sandbox(seed=7) as server, tempfile.TemporaryDirectory() as folder:
        # A client whose key is stored in a file can be sent to other processes, as dask does.
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


def refusal(uses, client, hint):
    """Checks that a feature that needs an extra says so without it."""
    try:
        uses(client)
    except ImportError as error:
        expect(str(error) == hint, f"{str(error)!r} instead of {hint!r}")
    else:
        expect(False, f"nothing said {hint!r}")


def command_line_is_missing():
    done = command("--help")
    hint = "boardlot: the command line needs click: pip install 'boardlot[cli]'\n"
    expect((done.returncode, done.stderr) == (3, hint), f"the command said {done.stderr!r}")


def command(*arguments):
    return subprocess.run([script(), *arguments], capture_output=True, text=True)


def script():
    suffix = ".exe" if sys.platform == "win32" else ""
    return Path(sysconfig.get_path("scripts"), "boardlot").with_suffix(suffix)


def dividends(client):
    return client.dividends("HK.00700")


def arrow(client):
    table = dividends(client).to_arrow()
    expect(table.num_rows == len(dividends(client)), "rows are missing in Arrow")


def pandas(client):
    frame = dividends(client).to_pandas()
    expect(frame.dividend_per_share.dtype == "float64", "a number is no number in pandas")


def polars(client):
    expect(dividends(client).to_polars().height, "rows are missing in polars")


def polars_scan(client):
    module = importlib.import_module("boardlot.polars")
    lazy = module.scan(client, "dividends", symbol="HK.00700")
    expect(lazy.collect().height, "rows are missing in a LazyFrame")


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
    from boardlot import plots

    expect(plots.dividends(dividends(client)).get_title(), "the chart has no title")
    import ipykernel  # noqa: F401


def calendar(client):
    text = client.ipo_calendar(["hk"]).to_ical()
    expect("BEGIN:VEVENT" in str(text), "no event in iCalendar's form")


def dask(client):
    from boardlot.dask import from_keys

    frame = from_keys(client, "dividends", ["HK.00700", "US.AAPL"], npartitions=2)
    symbols = set(frame.compute(scheduler="threads").symbol)
    expect(symbols == {"HK.00700", "US.AAPL"}, "a partition is missing")


def ray(client):
    importlib.import_module("boardlot.ray")


def spark(client):
    importlib.import_module("boardlot.spark")


def postgres(client):
    import boardlot

    try:
        # Nothing listens on port 1: with the driver, this is an error of the connection.
        boardlot.Archive("postgresql://nobody@127.0.0.1:1/none")
    except boardlot.StoreError as error:
        expect("cannot be used" in str(error), f"the archive said {error}")
    else:
        expect(False, "an archive without a server was opened")


def otel(client):
    from boardlot.otel import instrument

    # The API alone measures nothing, and stops nothing.
    instrument(client)
    expect(len(dividends(client)), "an instrumented client gave nothing")


def mcp(client):
    about = {"clientInfo": {"name": "installed.py", "version": "1"}, "capabilities": {}}
    params = {"protocolVersion": "2025-06-18", **about}
    greeting = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    with subprocess.Popen(
        [script(), "mcp", "--demo"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        process.stdin.write(json.dumps(greeting) + "\n")
        process.stdin.flush()
        response = json.loads(process.stdout.readline())
        process.stdin.close()
    expect(response["result"]["serverInfo"]["name"] == "boardlot", f"it greeted with {response}")


def xlsx(client):
    from xlsxwriter import Workbook

    with Workbook(io.BytesIO(), {"constant_memory": True}) as book:
        book.add_worksheet()


def interactive(client):
    from boardlot.notebook import table_html

    expect("<table" in table_html(dividends(client)), "there is no table")


def needs(what, extra):
    return f"{what}: pip install {'-U ' * ('newer' in what)}'boardlot[{extra}]'"


# Uses of an extra, and their message without it.
MISSING = {
    pandas: needs("to_pandas() needs pandas", "pandas"),
    polars: needs("to_polars() needs polars", "polars"),
    arrow: needs("to_arrow() needs pyarrow", "arrow"),
    notebook: needs("plots.dividends() needs matplotlib", "notebook"),
    dask: needs("boardlot.dask needs dask", "dask"),
    polars_scan: needs("boardlot.polars needs polars 1.22 or newer", "polars"),
    ray: needs("boardlot.ray needs Ray 2.60 or newer", "ray"),
    spark: needs("boardlot.spark needs Spark 4.1 or newer", "spark"),
    postgres: needs("an archive in PostgreSQL needs psycopg", "postgres"),
    calendar: needs("to_ical() needs icalendar", "calendar"),
    otel: needs("boardlot.otel needs opentelemetry-api", "otel"),
    interactive: needs("this table needs itables", "interactive"),
}
EXTRAS = {
    "arrow": (arrow,),
    "pandas": (pandas, arrow),
    "polars": (polars, polars_scan),
    "progress": (progress,),
    "cli": (cli, progress),
    "notebook": (notebook, pandas, arrow),
    "calendar": (calendar,),
    "dask": (dask, pandas, arrow),
    "postgres": (postgres,),
    "otel": (otel,),
    "mcp": (mcp, cli),
    "xlsx": (xlsx,),
    "interactive": (interactive, pandas, arrow),
}
EXTRAS["all"] = tuple(dict.fromkeys(use for uses in EXTRAS.values() for use in uses))

if __name__ == "__main__":
    check(sys.argv[1] if len(sys.argv) > 1 else None)
