"""A dask DataFrame as Parquet, a file a partition, of which a rerun writes what is missing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from uuid import uuid4

import dask
import dask.dataframe as dd
import pandas as pd
import pyarrow as pa
from dask.tokenize import tokenize
from pyarrow import parquet

from boardlot.errors import ConfigError

__all__ = ["write_missing"]


def write_missing(frame: dd.DataFrame, folder: str | os.PathLike[str]) -> list[Path]:
    """Write each partition that the folder does not hold yet as a Parquet file of its own.

    Only what is missing is fetched, so that a run that broke off goes on where it was. A file is
    written beside its place and moved there whole: no crash leaves half of one. One run at a
    time may write to a folder. A file that another hand or a failing disk has cut short or emptied
    has no footer any more: it is written again.

    Args:
        frame: A frame of `from_keys` or `from_range`, or one made from it. A file's name tells
            which frame it is of, so a rerun has to make it in the same way: from the same
            address, with the same keys or range and the same number of partitions. Credentials,
            rate limit and concurrency may differ.
        folder: Where the files go; made where it is not there. The workers write, so a cluster
            of several machines needs a folder that they share.

    Returns:
        The files that this run has written, in the order of their partitions.

    Raises:
        ConfigError: The folder holds the parts of another frame.
        OSError: The folder cannot be written to; what was whole before stays.

    Example:
        >>> import boardlot.dask, dask.dataframe
        >>> frame = dask.dataframe.from_pandas(client.dividends("HK.00700").to_pandas())
        >>> len(boardlot.dask.write_missing(frame, folder))
        1
        >>> boardlot.dask.write_missing(frame, folder)
        []
    """
    folder = Path(folder).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    mark = _identity(frame.expr)[:12]
    names = [f"part-{place:05d}-{mark}.parquet" for place in range(frame.npartitions)]
    there = {path.name for path in folder.glob("part-*.parquet")}
    if foreign := sorted(there - set(names)):
        raise ConfigError(
            f"{folder} holds parts of another frame, such as {foreign[0]}: take another folder, "
            "or make the frame with the arguments (and the version of dask) that it had then"
        )
    missing = [
        place
        for place, name in enumerate(names)
        if name not in there or not _is_whole(folder / name)
    ]
    if missing:
        parts = frame.partitions[missing].to_delayed()
        paths = [folder / names[place] for place in missing]
        write = dask.delayed(_write, pure=False)
        dask.compute(*(write(part, path) for part, path in zip(parts, paths, strict=True)))
    # What a crash left beside.
    for beside in folder.glob(".part-*.writing"):
        beside.unlink(missing_ok=True)
    return [folder / names[place] for place in missing]


def _identity(expression: Any) -> str:
    """A hash of what the frame is, the same in every process and however it is fetched.

    The frame's own name will not do: it tells clients with other options apart, as it has to,
    since dask takes frames of the same name for one.
    """
    parts = []
    for operand in expression.operands:
        if hasattr(operand, "operands"):
            parts.append(_identity(operand))
        else:
            parts.append(getattr(operand, "identity", operand))
    kind = type(expression).__name__
    return str(tokenize(kind, parts, ensure_deterministic=True))


def _is_whole(path: Path) -> bool:
    """Whether the file has its footer, which is written last."""
    with path.open("rb") as file:
        try:
            parquet.read_metadata(file)
        except (pa.ArrowException, OSError):
            return False
    return True


def _write(part: pd.DataFrame, path: Path) -> None:
    beside = path.with_name(f".{path.stem}-{uuid4().hex}.writing")
    try:
        part.to_parquet(beside, engine="pyarrow", compression="zstd", index=False)
        with beside.open("rb+") as file:
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
