"""A dask DataFrame as Parquet, one file per partition; a rerun writes only the missing files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import dask
import dask.dataframe as dd
import pandas as pd
import pyarrow as pa
from dask.tokenize import tokenize
from pyarrow import parquet

from boardlot import _core
from boardlot._calls import explained
from boardlot._support.crash_safe import replacing
from boardlot.errors import ConfigError


@explained
def write_missing(frame: dd.DataFrame, folder: str | os.PathLike[str]) -> list[Path]:
    """Write each partition that is not in the folder yet to its own Parquet file.

    Only missing partitions are fetched, so an interrupted run resumes. A file is written under a
    temporary name and renamed when it is complete, so a crash never leaves half a file. Only one
    run at a time may write to a folder. A file that was truncated or emptied has no footer and is
    written again.

    Args:
        frame: A frame of `from_keys` or `from_range`, or one made from it. The names of the files
            identify the frame, so a rerun must make it in the same way: from the same address,
            with the same keys or range and the same number of partitions. Credentials, rate limit
            and concurrency may differ.
        folder: The folder of the files; created if it does not exist. The workers write, so a
            cluster of several machines needs a shared folder.

    Returns:
        The files that this run has written, in the order of their partitions.

    Raises:
        ConfigError: The folder contains the parts of another frame.
        OSError: The folder cannot be written to; complete files are unchanged.

    Example:
        >>> import boardlot.dask, dask.dataframe
        >>> frame = dask.dataframe.from_pandas(client.dividends("HK.00700").to_pandas())
        >>> len(boardlot.dask.write_missing(frame, folder))
        1
        >>> boardlot.dask.write_missing(frame, folder)
        []
    """
    folder = Path(_core._expand_user(folder)).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    digest = _identity(frame.expr)[:12]
    names = [f"part-{index:05d}-{digest}.parquet" for index in range(frame.npartitions)]
    existing = {path.name for path in folder.glob("part-*.parquet")}
    if foreign := sorted(existing - set(names)):
        raise ConfigError(
            f"{folder} contains parts of another frame, such as {foreign[0]}: use another folder, "
            "or make the frame with the same arguments and version of dask as before"
        )
    missing = [
        index
        for index, name in enumerate(names)
        if name not in existing or not _is_complete(folder / name)
    ]
    if missing:
        parts = frame.partitions[missing].to_delayed()
        paths = [folder / names[index] for index in missing]
        write = dask.delayed(_write, pure=False)
        dask.compute(*(write(part, path) for part, path in zip(parts, paths, strict=True)))
    # Temporary files that a crash left.
    for temporary in folder.glob(".part-*.writing"):
        _core._remove_file(temporary)
    return [folder / names[index] for index in missing]


def _identity(expression: Any) -> str:
    """A hash of the frame's content, the same in every process and however it is fetched.

    The frame's own name does not work: it also depends on the client's options, and has to, because
    dask treats frames with the same name as one.
    """
    parts = []
    for operand in expression.operands:
        if hasattr(operand, "operands"):
            parts.append(_identity(operand))
        else:
            parts.append(getattr(operand, "identity", operand))
    kind = type(expression).__name__
    return str(tokenize(kind, parts, ensure_deterministic=True))


def _is_complete(path: Path) -> bool:
    """True if the file has a footer, which is written last."""
    with path.open("rb") as file:
        try:
            parquet.read_metadata(file)
        except (pa.ArrowException, OSError):
            return False
    return True


def _write(part: pd.DataFrame, path: Path) -> None:
    with replacing(path, suffix=".writing") as file:
        part.to_parquet(file, engine="pyarrow", compression="zstd", index=False)
