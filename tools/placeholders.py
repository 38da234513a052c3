"""Lists what the first publisher has to fill in: `placeholders.py` fails while there is any.

Addresses of the project, the hash of the source archive in the recipe for conda-forge, and
sentences that are true only before the first release, which `placeholders.py --released` replaces.
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
# By file: what is true only before the first release, and what to say from then on.
BEFORE_A_RELEASE = {
    "README.md": {
        """so you need no account. In a checkout, with Rust 1.89 or newer (by
rustup), a C compiler and CPython 3.10 or newer:

```sh
# Compiles it, which takes minutes the first time, and shows the main workflow.
make demo
# Runs all tests, which takes ten minutes.
make test
# From here on, `python` and `boardlot` are those of this checkout.
. .venv/bin/activate
pip install pandas pyarrow
```
""": """so you need no account:

```sh
pip install "boardlot[cli,pandas]"
boardlot demo  # shows the main workflow
```
""",
        "has wheels and extras; no release is on a package index yet.": "has wheels and extras.",
        "`make docs` builds the site into `site/`. The guides are readable here too:": (
            "The guides, as of this version:"
        ),
    },
    "docs/index.md": {
        """make demo                  # in a checkout: compiles boardlot and shows the main workflow
. .venv/bin/activate       # `python` and `boardlot` are now those of this checkout
pip install pandas pyarrow matplotlib   # for the frames and charts on these pages
```

[Install](install.md) has what `make demo` needs, wheels, extras and platforms.
""": """pip install "boardlot[cli,notebook]"   # with what the frames and charts on these pages need
boardlot demo                          # shows the main workflow
```

[Install](install.md) has extras and platforms.
""",
    },
    "docs/install.md": {
        "No release is on a package index yet. A checkout": """```sh
pip install "boardlot[pandas,cli]"
```

A checkout""",
        """ Until there is a release, install the
library itself: `pip install pandas`.
""": "\n",
        """ There has been no release, and no
workflow has run yet. The""": " The",
    },
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
