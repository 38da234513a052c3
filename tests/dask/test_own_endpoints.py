"""Dask frames of endpoints that the user declared."""

import boardlot as bl
import boardlot.dask
import pandas as pd
import pytest

from ..support.keys import uploaded_key
from ..support.own_endpoints import KLINE

SYMBOLS = ["HK.00700", "HK.00005", "HK.00001"]


@pytest.fixture
def client(tmp_path):
    with bl.Sandbox(seed=7) as sandbox:
        for number, symbol in enumerate(SYMBOLS):
            rows = [{"time": n + 1, "close": f"{number}.5", "volume": n} for n in range(150)]
            sandbox.serve(KLINE, rows, symbol=symbol)
        auth = bl.ApiKey(*uploaded_key(sandbox, tmp_path))
        with bl.Client(sandbox.base_url, auth=auth) as client:
            yield client


def test_many_keys_of_a_declared_endpoint_are_a_frame(client):
    frame = boardlot.dask.from_keys(client, KLINE, SYMBOLS, npartitions=2)
    computed = frame.compute(scheduler="synchronous")
    assert list(computed.columns) == ["symbol", "time", "open", "close", "volume"]
    assert computed["symbol"].unique().tolist() == SYMBOLS
    assert len(computed) == 450
    assert isinstance(computed["time"].dtype, pd.DatetimeTZDtype)
    assert computed["volume"].dtype == "Int64"
    assert frame.dtypes.to_dict() == computed.dtypes.to_dict()


def test_the_same_declaration_has_the_same_name_and_another_has_not(client):
    name = boardlot.dask.from_keys(client, KLINE, SYMBOLS, npartitions=1)._name
    assert boardlot.dask.from_keys(client, KLINE, SYMBOLS, npartitions=1)._name == name
    other = bl.Endpoint("kline", "GET", KLINE.path, record={"time": "seconds"})
    assert boardlot.dask.from_keys(client, other, SYMBOLS, npartitions=1)._name != name
