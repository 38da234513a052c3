"""Lists the placeholders that the first publisher has to fill in: `placeholders.py` fails if there
is any.

Placeholders are addresses of the project, the hash of the source archive in the recipe for
conda-forge, and sentences that are true only before the first release, which
`placeholders.py --released` replaces.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACEHOLDER = re.compile(r"example\.com/boardlot|boardlot\.example\.com|0{64}")
# The recipe's hash is known only once the archive is published: it is not part of the release.
AFTERWARDS = "tools/conda/recipe.yaml"


def repository() -> str:
    """The address of the repository that pyproject.toml has."""
    # tomllib would do, but CPython 3.10 lacks it.
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (found,) = re.findall(r'^Repository = "(.+)"$', text, re.MULTILINE)
    return str(found)


# For each file, the texts that are true only before the first release, and their replacements.
_BEFORE_A_RELEASE = {
    "README.md": {
        r"""No release is on a package index yet, so pip compiles boardlot, in about five minutes.
That needs a C compiler, CPython 3.10 or newer and Rust 1.89 or newer, by
[rustup](docs/install.md#rust). In a checkout:

```sh
python3 -m venv .venv  # on Windows: py -m venv .venv
. .venv/bin/activate   # and .venv\Scripts\activate
pip install ".[cli,pandas]"
boardlot demo  # shows the main workflow
```

Or from anywhere, with git:

```sh
pip install "boardlot[cli,pandas] @ git+https://example.com/boardlot/source"
```

""": """```sh
pip install "boardlot[cli,pandas]"
boardlot demo  # shows the main workflow
```

""",
        """## Change it

In a checkout, with make:

```sh
# Compiles it without optimization, in two minutes, and shows the main workflow.
make demo
# Runs all tests, in twenty minutes.
make test
```

""": "",
    },
    "docs/index.md": {
        """pip install "boardlot[cli,notebook] @ git+https://example.com/boardlot/source"
""": """pip install "boardlot[cli,notebook]"
""",
        """No release is on a package index yet, so pip compiles boardlot, in about five minutes.
[Install](install.md) has what that needs on each system, extras and platforms.

""": """[Install](install.md) has extras and platforms.

""",
    },
    "docs/install.md": {
        """No release is on a package index yet, so pip compiles boardlot, in about five minutes.
""": """```sh
pip install "boardlot[cli,pandas]"         # into an environment
uvx --from "boardlot[cli]" boardlot demo   # the command alone, by uv
pipx install "boardlot[cli]"               # or by pipx
```

Where there is no wheel, pip compiles boardlot, in about five minutes.
""",
        """From the first release on, these need no compiler:

```sh
pip install "boardlot[cli,pandas]"
uvx --from "boardlot[cli]" boardlot demo
pipx install "boardlot[cli]"
```

""": "",
        """ Until there is a release,
pip does not find `boardlot[pandas]`: install the library itself, `pip install pandas`.
""": "\n",
        """ There has been no release, and no
workflow has run yet. The""": " The",
    },
}
# The same texts with the current address of the repository.
BEFORE_A_RELEASE = {
    name: {
        before.replace("https://example.com/boardlot/source", repository()): after
        for before, after in sentences.items()
    }
    for name, sentences in _BEFORE_A_RELEASE.items()
}


def released(name: str, text: str) -> str:
    """The text of a file, as it is from the first release on."""
    for before, after in BEFORE_A_RELEASE[name].items():
        text = text.replace(before, after)
    return text


def placeholders() -> dict[str, list[str]]:
    """The files of the repository with a placeholder, and their lines with one."""
    outside = [":!tests", ":!CONTRIBUTING.md", ":!tools/placeholders.py"]
    command = ["git", "grep", "-I", "-E", "--line-number", "-e", PLACEHOLDER.pattern]
    done = subprocess.run(
        [*command, "--", ".", *outside], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode > 1:
        raise OSError(done.stderr)
    found: dict[str, list[str]] = {}
    for line in done.stdout.splitlines():
        name, number, text = line.split(":", 2)
        found.setdefault(name, []).append(f"{number}: {text.strip()}")
    for name, sentences in BEFORE_A_RELEASE.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        for sentence in sentences:
            before, there, _ = text.partition(sentence)
            if there:
                at = before.count("\n") + 1
                found.setdefault(name, []).append(f"{at}: {sentence.strip().splitlines()[0]}")
    return found


def main() -> None:
    if sys.argv[1:] == ["--released"]:
        for name in BEFORE_A_RELEASE:
            text = released(name, (ROOT / name).read_text(encoding="utf-8"))
            (ROOT / name).write_text(text, encoding="utf-8", newline="\n")
    left = {name: lines for name, lines in placeholders().items() if name != AFTERWARDS}
    for name, lines in left.items():
        for line in lines:
            print(f"{name}:{line}")
    if left:
        raise SystemExit('fill these in first: see "A release" in CONTRIBUTING.md')


if __name__ == "__main__":
    main()
