"""Makes the pictures of the README and the start page from real output.

`terminal.svg` shows the output of `boardlot demo` in a terminal, and `notebook.png` shows cells of
a stored notebook with their outputs, drawn by Chromium.
"""

from __future__ import annotations

import html
import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
from base64 import b64encode
from io import BytesIO
from pathlib import Path

import boardlot as bl
import markdown
import nbformat
from boardlot import plots
from matplotlib import pyplot as plt
from PIL import Image, ImageChops
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
LARGEST = 300_000
# A phone of 390 pixels draws lines of this many characters with letters of 12 pixels.
COLUMNS = 48
# The picture ends after this many tables: the demo shows data first.
TABLES = 2
CHARACTER, LINE, MARGIN = 8.4, 19, 18
STYLE = re.compile(r"\x1b\[([\d;]*)m")
COLORS = {
    **dict(
        zip(
            map(str, range(30, 38)),
            (
                "#6b7280",
                "#f87171",
                "#4ade80",
                "#fbbf24",
                "#60a5fa",
                "#c084fc",
                "#22d3ee",
                "#e5e7eb",
            ),
            strict=True,
        )
    ),
    "2": "#9ca3af",
}
NOTEBOOK = ROOT / "notebooks" / "1-quickstart.ipynb"
# The headings to show, each with the cell below it.
HEADINGS = ("## A frame", "## A chart")


def terminal_output(command: list[str]) -> list[str]:
    """The lines that a command prints in a terminal of `COLUMNS` columns, with their colors."""
    reader, writer = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(COLUMNS), "TERM": "xterm-256color"}
    with tempfile.TemporaryDirectory(prefix="demo-") as folder:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=writer, stderr=writer, stdin=writer
        )
        os.close(writer)
        output = b""
        while True:
            try:
                output += os.read(reader, 65536)
            except OSError:  # the other end of the terminal is closed
                break
        if process.wait() != 0:
            raise SystemExit(output.decode())
        text = output.decode().replace(folder + os.sep, "")
    return [line.rpartition("\r")[2] for line in text.replace("\r\n", "\n").splitlines()]


def spans(line: str) -> str:
    """A line as SVG, each run of one color at its column."""
    out, column, color = "", 0, ""
    if len(STYLE.sub("", line)) > COLUMNS:
        raise SystemExit(f"a line is longer than {COLUMNS} characters: {line}")
    for number, part in enumerate(STYLE.split(line)):
        if number % 2:
            color = next((COLORS[code] for code in part.split(";") if code in COLORS), "")
            continue
        if part:
            fill = f' fill="{color}"' if color else ""
            width = f' textLength="{len(part) * CHARACTER:.1f}"' if part.strip() else ""
            x = MARGIN + column * CHARACTER
            out += f'<tspan x="{x:.1f}"{width}{fill}>{html.escape(part)}</tspan>'
        column += len(part)
    return out


def terminal_picture(lines: list[str], name: str) -> str:
    width, height = COLUMNS * CHARACTER + 2 * MARGIN, (len(lines) + 1) * LINE + 2 * MARGIN
    body = "\n".join(
        f'<text y="{MARGIN + (place + 1) * LINE}">{spans(line)}</text>'
        for place, line in enumerate(lines)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'role="img" aria-label="{name}">\n'
        "<style>text { font: 14px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace; "
        "fill: #e5e7eb; white-space: pre }</style>\n"
        f'<rect width="100%" height="100%" rx="10" fill="#111827"/>\n{body}\n</svg>\n'
    )


PAGE = """<!doctype html><meta charset="utf-8"><style>
body { font: 14px system-ui, "DejaVu Sans", sans-serif; margin: 12px; width: 476px; color: #1f2937 }
h2 { font-size: 18px; margin: 12px 0 6px }
.code { background: #f6f8fa; border: 1px solid #d8dee4; border-radius: 6px; padding: 0 10px;
        font-size: 12px; margin: 8px 0 }
.code pre { white-space: pre-wrap }
.output { margin: 6px 0; overflow: hidden } .output img { max-width: 476px }
table { border-collapse: collapse; font-size: 11.5px }
td, th { border: 0; padding: 2px 4px; text-align: right; white-space: nowrap }
tr:nth-child(even) { background: #f6f8fa }
STYLES</style>CELLS"""


def notebook_page() -> str:
    """The shown cells of the notebook as a page."""
    cells = nbformat.read(NOTEBOOK, as_version=4).cells
    formatter = HtmlFormatter(nobackground=True)
    parts = []
    starts = [place for place, cell in enumerate(cells) if cell.source.startswith(HEADINGS)]
    if len(starts) != len(HEADINGS):
        raise SystemExit(f"{NOTEBOOK.name} does not have the headings {HEADINGS}")
    for cell in (cells[place + step] for place in starts for step in (0, 1)):
        if cell.cell_type == "markdown":
            parts.append(markdown.markdown(cell.source, extensions=["tables"]))
            continue
        code = highlight(cell.source, PythonLexer(), formatter)
        parts.append(f'<div class="code">{code}</div>')
        for output in cell.outputs:
            data = output.get("data", {})
            if "image/png" in data:
                shown = f'<img src="data:image/png;base64,{chart()}">'
            else:
                text = html.escape(data.get("text/plain", output.get("text", "")))
                shown = data.get("text/html", f"<pre>{text}</pre>")
            parts.append(f'<div class="output">{shown}</div>')
    return PAGE.replace("STYLES", formatter.get_style_defs()).replace("CELLS", "".join(parts))


def chart() -> str:
    """The notebook's chart, with letters that can be read in a small picture."""
    with bl.Sandbox(seed=7) as sandbox, sandbox.client() as client:
        figure, ax = plt.subplots(figsize=(4.76, 3), dpi=200, layout="constrained")
        plots.dividends(client.dividends("HK.00700"), ax=ax)
        ax.tick_params(axis="x", rotation=45)
        png = BytesIO()
        figure.savefig(png)
    return b64encode(png.getvalue()).decode()


def screenshot(page: str, path: Path) -> None:
    """The page as Chromium draws it, without the empty space below."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        raise SystemExit("Chromium is not installed; on Debian: apt-get install chromium")
    with tempfile.TemporaryDirectory(prefix="page-") as folder:
        file = Path(folder, "page.html")
        file.write_text(page, "utf-8")
        flags = ["--headless=new", "--no-sandbox", "--hide-scrollbars", "--window-size=500,1500"]
        flags += ["--force-device-scale-factor=2"]
        flags += [f"--screenshot={path}", f"--user-data-dir={folder}/profile"]
        subprocess.run([chromium, *flags, file.as_uri()], check=True, capture_output=True)
    image = Image.open(path).convert("RGB")
    content = ImageChops.difference(image, Image.new("RGB", image.size, "white")).getbbox()
    bottom = content[3] + 24 if content else image.height
    image.crop((0, 0, image.width, bottom)).quantize(128).save(path, optimize=True)


def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    lines = terminal_output([str(Path(sys.executable).with_name("boardlot")), "demo"])
    # An empty line ends each table.
    ends = [number for number, line in enumerate(lines) if not line]
    shown = ["\x1b[32m$\x1b[0m boardlot demo", *lines[: ends[TABLES - 1]]]
    (PICTURES / "terminal.svg").write_text(
        terminal_picture(shown, "The first tables of boardlot demo in a terminal"), "utf-8"
    )
    screenshot(notebook_page(), PICTURES / "notebook.png")
    for path in PICTURES.iterdir():
        if path.stat().st_size > LARGEST:
            raise SystemExit(f"{path.name} has {path.stat().st_size} bytes; at most {LARGEST}")


if __name__ == "__main__":
    main()
