"""A service with fills whose times are often equal, and a client that can be sent to workers."""

import boardlot as bl
import pytest

from ..support.keys import uploaded_key


@pytest.fixture(scope="module")
def sandbox():
    with bl.Sandbox(seed=7, fills=400) as running:
        yield running


@pytest.fixture(scope="module")
def client(sandbox, tmp_path_factory):
    auth = bl.ApiKey(*uploaded_key(sandbox, tmp_path_factory.mktemp("key")))
    with bl.Client(sandbox.base_url, auth=auth) as client:
        yield client
