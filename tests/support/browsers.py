"""Programs in place of a browser, which note how they are opened."""

import html
import json
import re
import sys
import textwrap
from typing import NamedTuple

from .threads import wait_until

OPENERS = [
    *("xdg-open", "x-www-browser", "www-browser", "sensible-browser", "gnome-open", "kde-open"),
    *("gio", "wslview", "firefox", "chromium", "chromium-browser", "google-chrome", "open"),
    *("gvfs-open", "exo-open", "kfmclient", "w3m", "lynx", "links"),
]


def write_openers(folder):
    """Writes programs in place of all browsers: each notes its arguments and does nothing else.

    They write into the folder `<their own folder>.noted`, beside the path by which they are
    started.
    """
    # A path with a space would end the first line's program there.
    script = f"""\
        #!/bin/sh
        '''exec' "{sys.executable}" -I "$0" "$@"
        '''
        import json, os, sys, time
        noted = os.path.dirname(sys.argv[0]) + ".noted"
        place = os.path.join(noted, f"{{time.time_ns()}}-{{os.getpid()}}")
        with open(place + ".part", "w") as out:
            files = list(filter(os.path.isfile, sys.argv[1:]))
            pages = [open(file).read() for file in files]
            json.dump([sys.argv[1:], pages, [os.stat(file).st_mode for file in files]], out)
        os.rename(place + ".part", place)
        """
    folder.mkdir()
    for name in OPENERS:
        path = folder / name
        path.write_text(textwrap.dedent(script))
        path.chmod(0o755)


class Opened(NamedTuple):
    """The opening of a browser."""

    arguments: list[str]
    pages: list[str]
    modes: list[int]

    @property
    def url(self):
        """The URL that the page sends the browser to."""
        (page,) = self.pages
        (url,) = re.findall(r'http-equiv="refresh" content="0;url=([^"]*)"', page)
        return html.unescape(url)


def opened_with(noted):
    """The openings of all browsers."""
    files = [path for path in sorted(noted.iterdir()) if path.suffix != ".part"]
    return [Opened(*json.loads(path.read_text())) for path in files]


def browser_of(noted):
    """Waits for a browser; returns how it was opened."""
    return wait_until(lambda: opened_with(noted), "a browser")[-1]
