"""A service with fills whose times are often equal, and a client that can be sent to workers."""

import os

import boardlot as bl
import pytest


@pytest.fixture(scope="module")
def sandbox():
    with bl.Sandbox(seed=7, fills=400) as running:
        yield running


@pytest.fixture(scope="module")
def client(sandbox, tmp_path_factory):
    key = bl.generate_key()
    path = tmp_path_factory.mktemp("key") / "key.pem"
    path.touch(mode=0o600)
    path.write_text(key.private_pem)
    auth = bl.ApiKey(sandbox.upload_key(key.public_pem), os.fspath(path))
    with bl.Client(sandbox.base_url, auth=auth) as client:
        yield client
