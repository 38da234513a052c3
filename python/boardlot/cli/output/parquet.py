"""The Parquet writer: typed columns, also for fields that the schema does not declare.

A Parquet file has one schema, but the type of an undeclared field is known only when its pages have
arrived. So a row group that needs a wider schema starts a new segment, a temporary file, and at the
end the segments become one file with the widest schema. Nearly always there is one segment, which
is the file itself.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from boardlot._support import hints
from boardlot.cli.output.fields import Fields, Rows, names_of, plain
from boardlot.errors import ProtocolError

# Rows of one row group: at most these are in memory.
GROUP = 20_000


class Parquet:
    """Typed, compressed columns, in row groups of a fixed size.

    Declared fields have their declared types. An undeclared field has the narrowest type that
    holds all its values: boolean, integer, float, otherwise text.
    """

    def __init__(self, file: BinaryIO, fields: Fields) -> None:
        try:
            import pyarrow
            from pyarrow import parquet
        except ModuleNotFoundError as missing:
            raise ImportError(
                "--format parquet needs pyarrow: pip install 'boardlot[arrow]'"
            ) from missing
        self._pyarrow = pyarrow
        self._parquet = parquet
        self._file = file
        self._fields = fields
        # A file that can be read back contains the first segment; a pipe or a device cannot.
        self._rereadable = file.readable() and file.seekable()
        self._segments: list[Any] = []
        self._writer: Any = None
        self._pages: list[Any] = []
        # The type of each column so far; a column of nulls only has the type null.
        self._types: dict[str, Any] = {}

    def write(self, page: Any) -> None:
        if not self._types and self._fields.selected is not None:
            selected = self._fields.checked(page) or []
            self._types = dict.fromkeys(selected, self._pyarrow.null())
        table = self._table(page)
        declared = {field.name for field in getattr(page, "schema", None) or ()}
        for name, column in zip(table.column_names, table.columns, strict=True):
            if self._fields.selected is None or name in self._types:
                empty = name not in declared and column.null_count == len(column)
                kind = self._pyarrow.null() if empty else column.type
                self._types[name] = self._wider(self._types.get(name, kind), kind)
        self._pages.append(table)
        if sum(map(len, self._pages)) >= GROUP:
            self._write_group()

    def end(self) -> None:
        if any(map(len, self._pages)) or self._writer is None:
            self._write_group()
        self._writer.close()
        if self._segments != [self._file]:
            with self._merged() as merged:
                merged.seek(0)
                if self._rereadable:
                    self._file.seek(0)
                    self._file.truncate()
                shutil.copyfileobj(merged, self._file)

    def _table(self, page: Any) -> Any:
        if not hasattr(page, "to_arrow"):
            return self._untyped(page)
        try:
            return page.to_arrow()
        except ProtocolError as error:
            # The error's own hint is about arguments that the command line does not have.
            raise ProtocolError(
                str(error), hint=hints.PARQUET_VALUE, checkpoint=error.checkpoint
            ) from error

    def _untyped(self, page: Rows) -> Any:
        columns = {name: self._column([row.get(name) for row in page]) for name in names_of(page)}
        return self._pyarrow.table(columns)

    def _column(self, values: list[Any]) -> Any:
        """Values without a schema, as text if no type holds them all."""
        pa = self._pyarrow
        try:
            array = pa.array(values)
            if self._can_be_written(array.type):
                return array
        except (pa.ArrowException, OverflowError, TypeError, ValueError):
            pass
        return pa.array([_text(value) for value in values], pa.string())

    def _can_be_written(self, kind: Any) -> bool:
        """Parquet has no objects without members."""
        members = [kind.field(index).type for index in range(kind.num_fields)]
        is_empty = self._pyarrow.types.is_struct(kind) and not members
        return not is_empty and all(map(self._can_be_written, members))

    def _write_group(self) -> None:
        pages, self._pages = self._pages, []
        schema = self._schema()
        if self._writer is None or schema != self._writer.schema:
            self._start_segment(schema)
        tables = [self._conformed(page, schema) for page in pages] or [schema.empty_table()]
        self._writer.write_table(self._pyarrow.concat_tables(tables))

    def _schema(self) -> Any:
        """The columns so far; one of nulls only is text."""
        pa = self._pyarrow
        return pa.schema(
            [
                (name, pa.string() if pa.types.is_null(kind) else kind)
                for name, kind in self._types.items()
            ]
        )

    def _start_segment(self, schema: Any) -> None:
        if self._writer is not None:
            self._writer.close()
        first = self._rereadable and not self._segments
        self._segments.append(self._file if first else self._temporary())
        self._writer = self._parquet.ParquetWriter(self._segments[-1], schema, compression="zstd")

    def _temporary(self) -> Any:
        """A file without a name, if possible on the disk that needs the space anyway."""
        if self._rereadable:
            with suppress(OSError):
                return tempfile.TemporaryFile(dir=Path(self._file.name).parent)
        return tempfile.TemporaryFile()

    def _merged(self) -> Any:
        """All segments as one file."""
        if len(self._segments) == 1:
            return self._segments[0]
        merged, schema = self._temporary(), self._schema()
        with self._parquet.ParquetWriter(merged, schema, compression="zstd") as writer:
            for segment in self._segments:
                segment.seek(0)
                file = self._parquet.ParquetFile(segment)
                for group in range(file.num_row_groups):
                    writer.write_table(self._conformed(file.read_row_group(group), schema))
        for segment in self._segments:
            if segment is not self._file:
                segment.close()
        return merged

    def _wider(self, one: Any, other: Any) -> Any:
        """The type that holds the values of both."""
        pa, types = self._pyarrow, self._pyarrow.types
        if one == other or types.is_null(other):
            return one
        if types.is_null(one):
            return other
        if types.is_struct(one) and types.is_struct(other):
            fields = {field.name: field.type for kind in (one, other) for field in kind}
            for field in one:
                fields[field.name] = self._wider(field.type, fields[field.name])
            return pa.struct(list(fields.items()))
        numbers = {pa.int64(), pa.float64()}
        return pa.float64() if {one, other} == numbers else pa.string()

    def _conformed(self, table: Any, schema: Any) -> Any:
        """The table with the columns of the schema; missing ones are nulls."""
        columns = []
        for field in schema:
            if field.name in table.column_names:
                chunks = table.column(field.name).chunks
                arrays = [self._cast(chunk, field.type) for chunk in chunks]
                columns.append(self._pyarrow.chunked_array(arrays, field.type))
            else:
                columns.append(self._pyarrow.nulls(len(table), field.type))
        return self._pyarrow.Table.from_arrays(columns, schema=schema)

    def _cast(self, array: Any, kind: Any) -> Any:
        pa, types = self._pyarrow, self._pyarrow.types
        if array.type == kind:
            return array
        if array.null_count == len(array):
            return pa.nulls(len(array), kind)
        if types.is_struct(kind):
            names = [field.name for field in array.type]
            parts = [
                self._cast(array.field(field.name), field.type)
                if field.name in names
                else pa.nulls(len(array), field.type)
                for field in kind
            ]
            return pa.StructArray.from_arrays(parts, fields=list(kind), mask=array.is_null())
        if types.is_nested(array.type):
            texts = [_text(value) for value in array.to_pylist()]
            return pa.array(texts, kind)
        # As in the columns of one page: integers next to floats become floats.
        return array.cast(kind, safe=False)


def _text(value: Any) -> str | None:
    """A value of a column of text: text as it is, others as JSON."""
    value = plain(value)
    return value if value is None or isinstance(value, str) else json.dumps(value)
