"""Charts of records, drawn with matplotlib.

Each takes `Records`, any sequence of the service's dicts, or a frame of them (pandas, polars or
pyarrow), draws into `ax` or a new figure, and returns the Axes. Labels name units and time zone.
The colors are distinguishable with every kind of color vision.
"""

from __future__ import annotations

from boardlot.plots.dividends import dividends
from boardlot.plots.fills import fills
from boardlot.plots.ipos import ipos
from boardlot.plots.positions import positions

__all__ = ["dividends", "fills", "ipos", "positions"]
