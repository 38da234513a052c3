"""An archive of data that the service forgets: fills, orders, positions, IPOs, dividends and
plates.
"""

from __future__ import annotations

from boardlot.archive.archive import Archive
from boardlot.archive.check import Finding, Findings
from boardlot.archive.lists import ListName
from boardlot.archive.query_result import QueryResult
from boardlot.archive.report import Counts, UpdateReport

__all__ = ["Archive", "Counts", "Finding", "Findings", "ListName", "QueryResult", "UpdateReport"]
