"""The spreadsheet writer: every value in a cell of its own type, one row in memory at a time."""

from __future__ import annotations

from contextlib import suppress
from datetime import date, datetime, timezone, tzinfo
from decimal import Decimal
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

import click

from boardlot._support.extras import needs
from boardlot._support.messages import hints
from boardlot._support.tables.cell_format import width_of
from boardlot.cli.output.fields import Fields, Page
from boardlot.cli.output.formats import Writer
from boardlot.errors import ProtocolError

# The limits of a sheet: rows below the header, columns, and UTF-16 units in a cell.
MOST_ROWS = 1_048_575
MOST_COLUMNS = 16_384
LONGEST_TEXT = 32_767
# A spreadsheet shows no more digits, and replaces the others by zeros.
MOST_DIGITS = 15
# The first day that all spreadsheets count alike: 1900 is a leap year for some.
FIRST_DAY = date(1900, 3, 1)
# Widths of columns, in characters.
NARROWEST, WIDEST = 10, 40
TIME, SECONDS = "yyyy-mm-dd hh:mm:ss.000", "yyyy-mm-dd hh:mm:ss"
OTHER_FORMATS = "use --format csv, jsonl or parquet"


class Xlsx(Writer):
    """One sheet with a header that stays in sight.

    Cells have types as columns of Parquet have: numbers, flags, dates, times in one zone; ids and
    all other texts are text, also those that look like a number or a formula.
    """

    def __init__(self, file: BinaryIO, fields: Fields, zone: tzinfo = timezone.utc) -> None:
        super().__init__(file, fields)
        with needs("XlsxWriter", "xlsx", "--format xlsx"):
            import xlsxwriter
        self._zone = zone
        self._folder = TemporaryDirectory(prefix="boardlot-")
        options = {"constant_memory": True, "tmpdir": self._folder.name, "use_zip64": True}
        self._archive = _ArchiveFile(file)
        self._book = xlsxwriter.Workbook(self._archive, options)
        self._sheet = self._book.add_worksheet()
        self._sheet.freeze_panes(1, 0)
        self._bold = self._book.add_format({"bold": True})
        # Text stays text if it is edited.
        self._text = self._book.add_format({"num_format": "@"})
        self._date = self._book.add_format({"num_format": "yyyy-mm-dd"})
        self._times = {
            unit: self._book.add_format({"num_format": SECONDS if unit == "s" else TIME})
            for unit in ("s", "ms", "us")
        }
        self._units: dict[str, str] = {}
        self._started = False
        self._rows = 0

    def write(self, page: Page) -> None:
        names = self._fields.names_for(page)
        if names and not self._started:
            self._start(names, page)
        if self._rows + len(page) > MOST_ROWS:
            raise click.UsageError(
                f"a sheet holds {MOST_ROWS:,} rows, and these are {self._rows + len(page):,} or "
                f"more: {OTHER_FORMATS}, or select fewer rows"
            )
        try:
            typed = page.typed_dicts()
        except ProtocolError as error:
            # The error's own hint is about arguments that the command line does not have.
            raise ProtocolError(
                str(error), hint=hints.TYPED_VALUE, checkpoint=error.checkpoint
            ) from error
        for row, texts in zip(typed, page.texts(names), strict=True):
            self._rows += 1
            for column, (name, text) in enumerate(zip(names, texts, strict=True)):
                if text is not None:
                    self._put(column, name, row.get(name), text)

    def end(self) -> None:
        from xlsxwriter.exceptions import FileCreateError

        # Ids are numbers as text on purpose.
        self._sheet.ignore_errors({"number_stored_as_text": "A1:XFD1048576"})
        try:
            self._book.close()
        except FileCreateError as error:
            # XlsxWriter's error contains the error of the operating system.
            raise error.args[0] from None

    def close(self) -> None:
        self._archive.is_open = False
        # Closes the file of the rows of an incomplete sheet, which fails again on a full disk.
        with suppress(OSError):
            self._sheet.row_data_fh.close()
        self._folder.cleanup()

    def _start(self, names: list[str], page: Page) -> None:
        if len(names) > MOST_COLUMNS:
            raise click.UsageError(
                f"a sheet holds {MOST_COLUMNS:,} columns, and these are {len(names):,}: "
                f"{OTHER_FORMATS}, or select some with --columns"
            )
        self._started = True
        self._units = {x.name: x.unit for x in page.schema if x.kind == "timestamp"}
        texts = page.texts(names)
        for column, name in enumerate(names):
            title = f"{name} ({self._zone})" if name in self._units else name
            widest = max((width_of(row[column] or "") for row in texts), default=0)
            least = len(TIME) if name in self._units else NARROWEST
            width = max(least, width_of(title), min(widest, WIDEST))
            self._sheet.set_column(column, column, width + 2)
            self._put_text(0, column, title, self._bold)

    def _put(self, column: int, name: str, value: Any, text: str) -> None:
        row = self._rows
        if isinstance(value, bool):
            self._sheet.write_boolean(row, column, value)
        elif isinstance(value, datetime):
            self._put_time(column, self._times[self._units[name]], value)
        elif isinstance(value, date):
            if value < FIRST_DAY:
                self._put_text(row, column, value.isoformat(), self._text)
            else:
                self._sheet.write_datetime(row, column, value, self._date)
        elif isinstance(value, (int, float, Decimal)) and not name.endswith("_id"):
            number = Decimal(text)
            if _is_exact(number):
                self._sheet.write_number(row, column, float(number))
            else:
                self._put_text(row, column, text, self._text)
        elif value is not None:
            self._put_text(row, column, text, self._text)

    def _put_time(self, column: int, form: Any, time: datetime) -> None:
        try:
            local = time.astimezone(self._zone).replace(tzinfo=None)
        except OverflowError:  # In the year 1 or 9999.
            local = time.replace(tzinfo=None)
        if local.date() < FIRST_DAY:
            self._put_text(self._rows, column, local.isoformat(" "), self._text)
        else:
            self._sheet.write_datetime(self._rows, column, local, form)

    def _put_text(self, row: int, column: int, text: str, form: Any) -> None:
        if not text:
            return
        if not text.isascii():
            # XML has no lone surrogates.
            text = text.encode("utf-8", "backslashreplace").decode()
        if len(text) > LONGEST_TEXT // 2 and len(text.encode("utf-16-le")) // 2 > LONGEST_TEXT:
            raise click.UsageError(
                f"a cell holds {LONGEST_TEXT:,} characters, and a text in row {row:,} has "
                f"{len(text):,}: {OTHER_FORMATS}"
            )
        if text.startswith("<r>") and text.endswith("</r>"):
            # XlsxWriter would take it for the XML of a text in several fonts, which it makes itself
            # of three parts.
            self._sheet.write_rich_string(row, column, text[:1], text[1:2], text[2:], form)
        else:
            self._sheet.write_string(row, column, text, form)


class _ArchiveFile:
    """The destination of the ZIP archive that a spreadsheet is.

    After an error, Python tries to complete the archive when the archive is garbage collected, and
    would report the failure on stderr. So anything that is written then is ignored.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.is_open = True
        # The position that is counted once writes are ignored.
        self._position = 0

    def write(self, data: bytes) -> int:
        if self.is_open:
            return self._file.write(data)
        self._position += len(data)
        return len(data)

    def seek(self, position: int, whence: int = 0) -> int:
        if self.is_open:
            return self._file.seek(position, whence)
        self._position = position
        return position

    def tell(self) -> int:
        return self._file.tell() if self.is_open else self._position

    def flush(self) -> None:
        if self.is_open:
            self._file.flush()


def _is_exact(number: Decimal) -> bool:
    """True if a cell holds all digits of the number, and a spreadsheet shows them."""
    digits = "".join(map(str, number.as_tuple().digits)).strip("0")
    return len(digits) <= MOST_DIGITS and Decimal(repr(float(number))) == number
