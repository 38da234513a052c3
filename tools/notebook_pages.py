"""Writes the notebooks with their stored outputs as pages of the site; `make docs` runs it."""

import re

from nbconvert import MarkdownExporter
from run_notebooks import NOTEBOOKS

FOLDER = NOTEBOOKS[0].parents[1] / "docs" / "notebooks"


def write() -> None:
    """Write the pages and their charts into `FOLDER`."""
    FOLDER.mkdir(exist_ok=True)
    for path in NOTEBOOKS:
        resources = {"unique_key": path.stem}
        text, resources = MarkdownExporter().from_filename(str(path), resources)
        for name, data in resources["outputs"].items():
            (FOLDER / name).write_bytes(data)
        text = described(re.sub(r"\]\(([\w-]+)\.ipynb\)", r"](\1.md)", text))
        (FOLDER / f"{path.stem}.md").write_text(text, "utf-8")


def described(page: str) -> str:
    """The page, in which the alternative text of each chart is the heading above it."""
    heading, in_code = "", False
    lines = []
    for line in page.splitlines(keepends=True):
        in_code ^= line.startswith("```")
        if not in_code and (found := re.match(r"#+ (.+)", line)):
            heading = found[1].strip()
        lines.append(line.replace("![png](", f"![Chart: {heading}]("))
    return "".join(lines)


if __name__ == "__main__":
    write()
