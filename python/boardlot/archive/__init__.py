"""An archive of data that the service forgets: fills, orders, positions, IPOs, dividends and
plates.
"""

from __future__ import annotations

from boardlot.archive.archive import Archive
from boardlot.archive.check import Finding, Findings
from boardlot.archive.lists import ListName
from boardlot.archive.report import Counts, UpdateReport
from boardlot.archive.tables import QueryResult

__all__ = ["Archive", "Counts", "Finding", "Findings", "ListName", "QueryResult", "UpdateReport"]
