"""Writes `python/boardlot/docs.html`: the pages that a first month needs, as one page.

`boardlot open docs` opens it if there is no network or no site. `make package-docs` runs this; a
test fails if the page is out of date.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

import markdown

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGE = ROOT / "python" / "boardlot" / "docs.html"
# The pages, in this order. Pages that change with every feature are only on the site.
PAGES = [
    "connect", "service", "not-documented", "cheat-sheet", "glossary", "signing", "login",
    "profiles", "proxies", "time-ranges", "many-symbols", "ipo-calendar", "command-line", "shell",
    "nightly-job", "mistakes", "agents",
]  # fmt: skip
EXTENSIONS = ["tables", "attr_list", "md_in_html", "pymdownx.superfences", "pymdownx.tabbed"]
STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.55 system-ui, sans-serif; max-width: 52rem; margin: 0 auto; padding: 1rem; }
pre { overflow-x: auto; padding: .7rem; border: 1px solid #8886; border-radius: 4px; }
code { font: .9em ui-monospace, monospace; overflow-wrap: anywhere; }
pre code { overflow-wrap: normal; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
td, th { border-bottom: 1px solid #8886; padding: .3rem .6rem; text-align: left; }
td { vertical-align: top; }
section { border-top: 2px solid #8886; margin-top: 3rem; }
.tabbed-set > input, .tabbed-labels { display: none; }
@media print { section { break-before: page; } body { font-size: 11px; } }
"""
REFERENCE = re.compile(r"\[([^\]]+)\]\[[\w.]+\]")
LINK = re.compile(r"\]\((?!https?:)([\w/-]+\.md)?(#[\w-]+)?\)")


def text() -> str:
    """The whole page."""
    parts, contents = [], []
    for name in PAGES:
        source = (DOCS / f"{name}.md").read_text("utf-8")
        title = source.splitlines()[0].removeprefix("# ")
        contents.append(f'<li><a href="#{name}">{escape(title)}</a></li>')
        html = markdown.markdown(_linked(source), extensions=EXTENSIONS)
        parts.append(f'<section id="{name}">\n{html}\n</section>')
    head = f"<title>boardlot</title>\n<style>{STYLE}</style>"
    meta = '<meta charset="utf-8">\n<meta name="viewport" content="width=device-width">'
    return (
        f'<!doctype html>\n<html lang="en">\n{meta}\n{head}\n<h1>boardlot</h1>\n'
        f"<ul>\n{chr(10).join(contents)}\n</ul>\n{chr(10).join(parts)}\n</html>\n"
    )


def _linked(source: str) -> str:
    """Keeps links to pages that are included, and makes words of the others, whose pages are on the
    site."""

    def link(match: re.Match[str]) -> str:
        page = (match[1] or "").removesuffix(".md")
        return f"](#{page})" if page in PAGES else "](#)"

    plain = REFERENCE.sub(r"\1", source)
    plain = re.sub(r"\[([^\]]+)\]\(#\)", r"\1", LINK.sub(link, plain))
    return re.sub(r"!\[[^\]]*\]\([^)]*\)", "", plain)


if __name__ == "__main__":
    PAGE.write_text(text(), "utf-8")
