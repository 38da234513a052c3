"""The examples of the command line's help and of its page run as they stand."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

click = pytest.importorskip("click")
pytest.importorskip("fcntl", reason="a shell of POSIX")
from boardlot.cli import application as app  # noqa: E402
from boardlot.cli.commands import endpoints  # noqa: E402

from ..support.command_line import FORMATS, Service  # noqa: E402

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "command-line.md"
# What needs a browser, an assistant or files that are not there, does not end by itself, or writes
# into the user's folders.
NOT_RUN = re.compile(
    r" login| logout| --store | profile remove| status CLIENT_ID|boardlot (sandbox|demo|open)|~/"
    r"| mcp\b| archive (status|export|sql|follow) | call "
)


@pytest.fixture(scope="module")
def service(tmp_path_factory: Any) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("service")
    service = Service(folder, fills=300)
    service.install(folder / "bin")
    yield service
    service.close()


def bash(service: Service, script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    # The examples name a service of their own, or the profile of a sandbox in another terminal.
    script = script.replace("https://api.example.com", service.sandbox.base_url)
    script = script.replace("--profile demo", "--profile live")
    if "--key-file key.pem" in script:
        (folder / "key.pem").touch(mode=0o600)
        (folder / "key.pem").write_text(service.key_file.read_text())
    return subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", script],
        env=service.environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )


def of_help() -> Iterator[str]:
    groups = [app.app]
    while groups:
        group = groups.pop()
        context = click.Context(group)
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None
            yield from getattr(command, "examples", [])
            if isinstance(command, click.Group):
                groups.append(command)


def of_the_pages() -> Iterator[Any]:
    # The README's other blocks of that kind are for make and pip.
    for page in (PAGE, ROOT / "README.md"):
        text = page.read_text(encoding="utf-8")
        for number, block in enumerate(re.findall(r"^```sh\n(boardlot.*?)^```", text, re.S | re.M)):
            yield pytest.param(block, id=f"{page.name} {number + 1}")


@pytest.mark.parametrize("line", [line for line in of_help() if not NOT_RUN.search(line)])
def test_an_example_of_the_help_runs(line: str, service: Service, tmp_path: Path) -> None:
    done = bash(service, line.replace("| head", "| sed -n 1,10p"), tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout or "--out" in line or ">" in line or " profile " in line


@pytest.mark.parametrize("block", list(of_the_pages()))
def test_an_example_of_a_page_runs(block: str, service: Service, tmp_path: Path) -> None:
    lines = [line for line in block.splitlines() if not NOT_RUN.search(line)]
    done = bash(service, "\n".join(lines).replace("| head", "| sed -n 1,10p"), tmp_path)
    assert done.returncode == 0, done.stderr


def test_the_page_names_every_command_and_every_global_option() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name in (*app.COMMANDS, *endpoints.ENDPOINTS):
        assert re.search(rf"`{name}`|boardlot (--\S+ \S+ )*{name}\b", text), name
    for option in app.global_options():
        assert option.opts[0] in text, option.opts[0]


def test_the_page_explains_every_format() -> None:
    table = PAGE.read_text("utf-8").partition("| `--format` |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == FORMATS
