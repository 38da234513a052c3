"""The Parquet writer: typed columns, and text for fields that the schema does not declare."""

from __future__ import annotations

from typing import Any, BinaryIO

from boardlot._support.extras import needs
from boardlot._support.messages import hints
from boardlot.cli.output.fields import Fields, Page
from boardlot.cli.output.formats import Writer
from boardlot.cli.output.plain_rows import PlainRows
from boardlot.errors import ProtocolError
from boardlot.frames import file_columns, without_empty_objects

# Rows of one row group: at most these are in memory.
GROUP = 20_000


class Parquet(Writer):
    """Typed, compressed columns, in row groups of a fixed size.

    Declared fields have their declared types, others are text. The columns are those of the first
    group of rows.
    """

    def __init__(self, file: BinaryIO, fields: Fields) -> None:
        with needs("pyarrow", "arrow", "--format parquet"):
            import pyarrow
            from pyarrow import parquet
        self._pyarrow, self._parquet = pyarrow, parquet
        super().__init__(file, fields)
        self._writer: Any = None
        self._tables: list[Any] = []

    def write(self, page: Page) -> None:
        if self._writer is None and not self._tables:
            self._fields.checked(page)
        self._tables.append(self._table(page))
        if self._writer is not None:
            self._fields.names_for(page)
        if sum(map(len, self._tables)) >= GROUP:
            self._write_group()

    def end(self) -> None:
        if any(map(len, self._tables)) or self._writer is None:
            self._write_group()
        self._writer.close()

    def _table(self, page: Page) -> Any:
        if isinstance(page, PlainRows):
            return page.table()
        try:
            return file_columns(page).select(page.names())
        except ProtocolError as error:
            # The error's own hint is about arguments that the command line does not have.
            raise ProtocolError(
                str(error), hint=hints.TYPED_VALUE, checkpoint=error.checkpoint
            ) from error

    def _write_group(self) -> None:
        pa = self._pyarrow
        tables, self._tables = self._tables, []
        if self._writer is not None:
            tables.insert(0, self._writer.schema.empty_table())
        texts: list[str] = []
        if self._writer is not None:
            # Objects of the first group that had no members.
            texts = [one.name for one in self._writer.schema if pa.types.is_string(one.type)]
        tables = [without_empty_objects(one, texts) for one in tables] if texts else tables
        table = pa.concat_tables(tables, promote_options="permissive")
        table = without_empty_objects(table)
        if self._writer is None:
            self._fields.names = self._fields.selected or table.column_names
            for name in self._fields.names:
                if name not in table.column_names:
                    table = table.append_column(name, pa.nulls(len(table), pa.string()))
            table = table.select(self._fields.names)
            self._writer = self._parquet.ParquetWriter(self._file, table.schema, compression="zstd")
        schema = self._writer.schema
        self._writer.write_table(table.select(schema.names).cast(schema))
