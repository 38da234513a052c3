"""What a terminal may be sent."""

from __future__ import annotations

import os

__all__ = ["coloured"]


def coloured() -> bool:
    """Whether a terminal may be sent colours: https://no-color.org."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
