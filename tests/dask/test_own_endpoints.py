"""Dask frames of endpoints that the user declared."""

import boardlot as bl
import boardlot.dask
import pandas as pd

from ..support.own_endpoints import KLINE

SYMBOLS = ["HK.00700", "HK.00005", "HK.00001"]


def test_many_keys_of_a_declared_endpoint_are_a_frame(sandbox, client):
    for number, symbol in enumerate(SYMBOLS):
        rows = [{"time": n + 1, "close": f"{number}.5", "volume": n} for n in range(150)]
        sandbox.serve(KLINE, rows, symbol=symbol)
    frame = boardlot.dask.from_keys(client, KLINE, SYMBOLS, npartitions=2)
    computed = frame.compute(scheduler="synchronous")
    assert list(computed.columns) == ["symbol", "time", "open", "close", "volume"]
    assert computed["symbol"].unique().tolist() == SYMBOLS and len(computed) == 450
    assert isinstance(computed["time"].dtype, pd.DatetimeTZDtype)
    assert computed["volume"].dtype == "Int64"
    assert frame.dtypes.to_dict() == computed.dtypes.to_dict()
    # The same declaration has the same name, and another has not.
    other = bl.Endpoint("kline", "GET", KLINE.path, record={"time": "seconds"})
    again, others = (
        boardlot.dask.from_keys(client, one, SYMBOLS, npartitions=2) for one in (KLINE, other)
    )
    assert again._name == frame._name != others._name
