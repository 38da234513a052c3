"""The program that `make wheel` runs with an instrumented build, so that the compiler knows which
code is hot.

Needs nothing but the package: rows come from its own sandbox and from pages made here.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import logging
import os
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import boardlot as bl
from boardlot._core import _response_parser
from boardlot.records import records_of

NAMES = ["TENCENT", "港交所", 'A "quoted" name', "a\\b", "𝄞", ""]


class Fill(NamedTuple):
    code: str
    qty: int
    price: float


class Stream(ctypes.Structure):
    """The functions of an Arrow C stream: its schema, next array and last error."""

    _fields_ = [
        (name, ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p))
        for name in ("get_schema", "get_next", "get_last_error")
    ]


def read_arrow(rows: Any) -> None:
    """Reads all arrays of a stream, as pyarrow would."""
    capsule = rows.__arrow_c_stream__()
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address = pointer(capsule, b"arrow_array_stream")
    # An array has nine and a half words: `release` is the ninth, and null at the end of the stream.
    array = (ctypes.c_void_p * 10)()
    while Stream.from_address(address).get_next(address, ctypes.addressof(array)) == 0 and array[8]:
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(array[8])(ctypes.addressof(array))


def pages(ascii_only: bool) -> list[bytes]:
    """Pages of a plate, with escapes and without."""
    rows = [
        {"code": f"HK.{n:05}", "stock_name": NAMES[n % 6], "lot_size": n, "ratio": n / 7, "x": None}
        for n in range(500)
    ]
    uneven = [dict(reversed(row.items())) if n % 2 else row for n, row in enumerate(rows)]
    lists = [rows, rows[:5], uneven]
    envelope = {"code": 0, "message": "ok", "pagination": {"has_more": False, "next_key": ""}}
    return [
        json.dumps({**envelope, "data": {"stock_list": rows}}, ensure_ascii=ascii_only).encode()
        for rows in lists
    ]


def read_rows(rounds: int) -> None:
    read = _response_parser("plate_stocks", [("plate_code", "HK.BK1001")])
    for body in pages(ascii_only=False) + pages(ascii_only=True):
        for _ in range(rounds):
            records = records_of(read(body))
            for row in records:
                row["code"], row.get("lot_size")
            records.to_dicts(typed=True)
            records.select("code", "stock_name")
            read_arrow(records)
            read(body).json()


def read_fills(client: bl.Client, account: str, rounds: int) -> None:
    def fills() -> Any:
        return client.fills_history(account, "HK", start="2024-01-01T00:00:00Z")

    for _ in range(rounds // 4 + 1):
        for fill in fills():
            fill["code"], fill["qty"]
        list(fills().as_type(Fill))
        list(fills().select("code", "qty", "price"))
        read_arrow(fills())
        fills().all().to_dicts(typed=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        bl.Archive(Path(folder) / "archive.db") as archive,
    ):
        for _ in range(3):
            archive.update(client, fills=[(account, "HK")], ipos=["hk"], dividends=["HK.00700"])
            archive.fills(account, "HK").all()


def fail(client: bl.Client) -> None:
    for wrong in ("unknown", "-", ""):
        calls: list[Any] = [client.ipo_list, client.dividends, client.reference_futures]
        for call in calls:
            try:
                call(wrong)
            except bl.BoardlotError as error:
                str(error), repr(error)


async def read_async(base_url: str, auth: Any, account: str, requests: int) -> None:
    async with bl.AsyncClient(base_url, auth=auth) as client:
        async for fill in client.fills_history(account, "HK"):
            fill["code"]
        await asyncio.gather(*(client.dividends("HK.00700") for _ in range(requests)))


def forget_compilation() -> None:
    """Removes the counts of instrumented macros and build scripts, which ran during the
    compilation.

    maturin would merge these counts: the compiler then takes other code for hot, and the wheel is 5
    to 9 % larger, depending on which crates were compiled again.
    """
    if profiles := os.environ.get("LLVM_PROFILE_FILE"):
        for counted in Path(profiles).parent.glob("default_*.profraw"):
            counted.unlink()


def train(rounds: int = 20, requests: int = 200, fills: int = 2_000) -> None:
    read_rows(rounds)
    with bl.Sandbox(seed=1, fills=fills) as sandbox:
        account = sandbox.accounts["trade"][0]
        for algorithm in ("Ed25519", "RSA-SHA256"):
            auth = sandbox.api_key(algorithm)
            with bl.Client(sandbox.base_url, auth=auth) as client:
                for _ in range(requests):
                    client.server_time()
                    client.dividends("HK.00700")
                if algorithm == "Ed25519":
                    read_fills(client, account, rounds)
                fail(client)
            asyncio.run(read_async(sandbox.base_url, auth, account, requests))


if __name__ == "__main__":
    forget_compilation()
    logging.basicConfig(level=logging.ERROR)
    train()
