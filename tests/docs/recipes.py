"""Runs every file of the cookbook against the sandbox; `tools/nightly/recipes` calls it.

Each framework runs it as its users would: FastAPI serves a request, Airflow runs its DAG, Dagster
materializes its asset, dlt loads, pytest runs a test, ibis prints. Those whose numbers are known by
hand run twice: the second time, a fill is corrected and another one is late.
"""

import csv
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import boardlot as bl

from ..support import unusual_fills as unusual
from ..support.keys import uploaded_key

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "docs" / name for name in ("cookbook.md", "frameworks.md")]
FILE = re.compile(r'^```py title="([^"]+)"\n(.*?)^```$', re.DOTALL | re.MULTILINE)
FASTAPI = """
from fastapi.testclient import TestClient
from fastapi_app import app

with TestClient(app) as client:
    assert len(client.get("/dividends/HK.00700").json()) == 21
    assert client.get("/dividends/HK.99999").status_code == 404
"""
FASTAPI_LOGINS = """
import os
from pathlib import Path

import boardlot as bl

sandbox, origin = bl.Sandbox(seed=7), "https://testserver"
registered = bl.register_client(
    sandbox.base_url, redirect_uris=[f"{origin}/callback"], client_name="app", confidential=True
)
tokens = Path("tokens")
Path("passphrase").write_text("of a test")
Path("client-secret").write_text(registered.client_secret)
os.environ |= {"SERVICE_URL": sandbox.base_url, "APP_ORIGIN": origin, "APP_FOLDER": "."}
os.environ["CLIENT_ID"] = registered.client_id

from fastapi.testclient import TestClient
from fastapi_logins import app

with TestClient(app, base_url=origin, follow_redirects=False) as browser:
    assert browser.get("/fills/281756").status_code == 401
    assert browser.post("/login").status_code == 403
    begun = browser.post("/login", headers={"Origin": origin})
    callback = sandbox.authorize_demo_user(begun.headers["location"])
    assert browser.get(callback.replace("state=", "state=x")).status_code == 400
    assert browser.get(callback).headers["location"] == "/"
    assert browser.get(callback).status_code == 400
    assert len(browser.get("/fills/281756").json()) == 100
    sandbox.revoke_tokens()  # as when they expire
    assert len(browser.get("/fills/281756").json()) == 100
    assert browser.get("/fills/999999").status_code == 404
    assert browser.get("/fills/not-an-id").status_code == 404
    sandbox.faults = bl.Faults(error_rate=1.0)
    assert browser.get("/fills/281756").status_code == 503
    sandbox.faults = bl.Faults(html_rate=1.0)  # a page of a proxy
    assert browser.get("/fills/281756").status_code == 502
    sandbox.faults = None
    kept = tokens.read_bytes()
    tokens.write_bytes(b"not a store")
    assert browser.get("/fills/281756").status_code == 502
    tokens.write_bytes(kept)
    sandbox.revoke_grants()
    assert browser.get("/fills/281756").status_code == 401
"""
AIRFLOW = """
import subprocess
import sys

for words in (["db", "migrate"], ["dags", "reserialize"], ["dags", "test", "boardlot_fills"]):
    subprocess.run([sys.executable, "-m", "airflow", *words], check=True)
"""
DAGSTER = """
import dagster as dg
from dagster_assets import Boardlot, fills

done = dg.materialize([fills], partition_key="281756", resources={"boardlot": Boardlot()})
assert done.success and len(done.output_for_node("fills")) > 0
"""
DLT = """
from dlt_pipeline import fills, pipeline

pipeline.run(fills("281756"))
# Another account in which a fill has the same id, and none is older than the newest of the first.
pipeline.run(fills("281757"))
with pipeline.sql_client() as sql:
    query = "select deal_id, qty from fills where acc_id = '{}' order by deal_id"
    first, second = (sql.execute_sql(query.format(one)) for one in ("281756", "281757"))
assert first == second
print([list(row) for row in first])
"""
DLT_REST_API = """
from dlt_rest_api import pipeline, source

pipeline.run(source)
with pipeline.sql_client() as sql:
    rows = sql.execute_sql("select deal_id, qty from fills order by deal_id")
print([list(row) for row in rows])
"""
GENERATED = """
import json
import runpy
import subprocess
import sys
from pathlib import Path

import boardlot

Path("openapi.json").write_text(json.dumps(boardlot.openapi()))
words = ["generate", "--meta", "none", "--path", "openapi.json", "--output-path", "service"]
module = [sys.executable, "-m", "openapi_python_client", *words, "--overwrite"]
subprocess.run(module, check=True, capture_output=True)
runpy.run_path("generated_client.py")
"""
# How each file is run: the arguments of the interpreter of its environment.
RUNS = {
    # Installed by pip, the plugin would be found by itself.
    "test_fills.py": ["-m", "pytest", "-q", "-p", "boardlot.pytest_plugin", "test_fills.py"],
    "fastapi_app.py": ["-c", FASTAPI],
    "fastapi_logins.py": ["-c", FASTAPI_LOGINS],
    "to_excel.py": ["to_excel.py"],
    "airflow_dag.py": ["-c", AIRFLOW],
    "dagster_assets.py": ["-c", DAGSTER],
    "dlt_pipeline.py": ["-c", DLT],
    "dlt_rest_api.py": ["-c", DLT_REST_API],
    "generated_client.py": ["-c", GENERATED],
    "ibis_query.py": ["ibis_query.py"],
}


def main(pythons):
    """Run the files; `pythons` has the interpreter of each, or of all others as `*`."""
    pythons = {name: str(Path(python).absolute()) for name, python in pythons.items()}
    files = dict(file for page in PAGES for file in FILE.findall(page.read_text("utf-8")))
    assert set(files) == set(RUNS), set(files) ^ set(RUNS)
    failed = []
    with bl.Sandbox(seed=7, fills=300) as sandbox, tempfile.TemporaryDirectory() as home:
        own = profile(sandbox, Path(home))
        for name, source in files.items():
            (Path(home) / name).write_text(source)
        for name, words in RUNS.items():
            python = pythons.get(name, pythons["*"])
            line, env = [python, *words], environment(home) | own
            for fills in (unusual.BEFORE, unusual.AFTER) if name in NUMBERS else (None,):
                if fills is not None:
                    sandbox.put("fills_history", fills)
                done = subprocess.run(line, cwd=home, env=env, capture_output=True, text=True)
            is_right = done.returncode == 0 and NUMBERS.get(name, always)(done.stdout, Path(home))
            print(f"{name}: {'ok' if is_right else 'failed'}", flush=True)
            if not is_right:
                print(done.stdout[-3000:], done.stderr[-3000:])
                failed.append(name)
    return 1 if failed else 0


def always(printed, home):
    return True


def printed_by_ibis(printed, home):
    rows = [line.split() for line in printed.splitlines()[1:]]
    largest = sorted(((shares, key) for key, shares in unusual.SHARES.items()), reverse=True)[:3]
    return rows == [[*key, f"{shares:.1f}"] for shares, key in largest]


def written_to_excel(printed, home):
    """The cells are texts in XML, so that no library is needed to look at them."""
    with zipfile.ZipFile(home / "fills.xlsx") as book:
        sheet = book.read("xl/worksheets/sheet1.xml").decode()
    return all(f"<t>{fill['deal_id']}</t>" in sheet for fill in unusual.AFTER)


def written_by_airflow(printed, home):
    """Each day of trading has a file."""
    days = {
        file.stem.removeprefix("fills-"): list(csv.DictReader(file.read_text("utf-8").splitlines()))
        for file in home.glob("fills-*.csv")
    }
    qty = {fill["deal_id"]: float(fill["qty"]) for fills in days.values() for fill in fills}
    by_day = {day: [fill["deal_id"] for fill in fills] for day, fills in days.items()}
    return by_day == unusual.BY_DAY and qty["1"] == 300


def loaded_by_dlt(printed, home):
    expected = sorted([fill["deal_id"], fill["qty"]] for fill in unusual.AFTER)
    return printed.splitlines()[-1] == str(expected)


def printed_by_generated(printed, home):
    rows = sorted(line.split() for line in printed.splitlines())
    return rows == sorted([fill["deal_id"], fill["qty"]] for fill in unusual.AFTER)


# Files that run against unusual fills, and whether their numbers are those by hand.
NUMBERS = {
    "to_excel.py": written_to_excel,
    "ibis_query.py": printed_by_ibis,
    "airflow_dag.py": written_by_airflow,
    "dlt_pipeline.py": loaded_by_dlt,
    "dlt_rest_api.py": loaded_by_dlt,
    "generated_client.py": printed_by_generated,
}


def profile(sandbox, home):
    """Adds the profile, and returns the variables for programs that have none."""
    folder = home / "boardlot"
    folder.mkdir(mode=0o700)
    key_id, key_file = uploaded_key(sandbox, folder)
    (folder / "config.toml").write_text(
        f'[profiles.live]\nbase_url = "{sandbox.base_url}"\n'
        f'auth = {{ kind = "api_key", key_id = {json.dumps(key_id)}, private_key = "key.pem" }}\n'
    )
    return {"SERVICE_URL": sandbox.base_url, "KEY_ID": key_id, "KEY_FILE": key_file}


def environment(home):
    return {
        **os.environ,
        "XDG_CONFIG_HOME": home,
        "HOME": home,
        "AIRFLOW_HOME": f"{home}/airflow",
        "AIRFLOW__CORE__DAGS_FOLDER": home,
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "DAGSTER_HOME": home,
        "DLT_DATA_DIR": f"{home}/dlt",
        "FILLS_FOLDER": home,
        "DAGSTER_DISABLE_TELEMETRY": "1",
        "RUNTIME__DLTHUB_TELEMETRY": "false",
        "PYTHONPATH": f"{ROOT / 'python'}{os.pathsep}{home}",
    }


if __name__ == "__main__":
    sys.exit(main(dict(pair.split("=", 1) for pair in sys.argv[1:])))
