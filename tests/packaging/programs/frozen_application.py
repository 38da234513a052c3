"""An application that is frozen into one file."""

import sys

import boardlot as bl
import boardlot.cli
import pydantic


class Dividend(pydantic.BaseModel):
    ex_date: str


if len(sys.argv) > 1:
    sys.exit(boardlot.cli.main())
with bl.Sandbox(seed=7) as sandbox, sandbox.client() as client:
    print(len(client.dividends("HK.00700").as_type(Dividend)), list[bl.Fill])
try:
    sandbox.client(rate_limit=bl.RateLimit(5, name="x", database="postgresql://127.0.0.1:1/x"))
except bl.BoardlotError as error:
    print(type(error).__name__)
