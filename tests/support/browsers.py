"""Programs in place of a browser, which note what they are opened with."""

import json
import sys
import textwrap
import time

OPENERS = [
    *("xdg-open", "x-www-browser", "www-browser", "sensible-browser", "gnome-open", "kde-open"),
    *("gio", "wslview", "firefox", "chromium", "chromium-browser", "google-chrome", "open"),
    *("gvfs-open", "exo-open", "kfmclient", "w3m", "lynx", "links"),
]


def write_openers(folder):
    """Programs in place of all browsers: each notes its arguments and does nothing else.

    They write into the folder `<their own folder>.noted`, by the path that they are started by.
    """
    script = f"""\
        #!{sys.executable} -I
        import json, os, sys, time
        noted = os.path.dirname(sys.argv[0]) + ".noted"
        place = os.path.join(noted, f"{{time.time_ns()}}-{{os.getpid()}}")
        with open(place + ".part", "w") as out:
            json.dump(sys.argv, out)
        os.rename(place + ".part", place)
        """
    folder.mkdir()
    for name in OPENERS:
        path = folder / name
        path.write_text(textwrap.dedent(script))
        path.chmod(0o755)


def opened_with(noted, seconds=60.0):
    """The arguments of every opened browser, waiting for the first; [] after `seconds`."""
    end = time.monotonic() + seconds
    while True:
        files = [path for path in sorted(noted.iterdir()) if path.suffix != ".part"]
        if files or time.monotonic() > end:
            return [json.loads(path.read_text())[1:] for path in files]
        time.sleep(0.02)
