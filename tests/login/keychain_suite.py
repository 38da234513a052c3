"""The suite over the keychain: `test_every_store.py` runs it in a session that has one.

`BOARDLOT_TEST_UPDATES` is the number of values that each of the threads saves.
"""

import os

import boardlot as bl
import boardlot.testing
import pytest
from boardlot.testing import TokenStoreSuite

# Each call of the keychain agrees on a key of its own.
boardlot.testing._UPDATES = int(os.environ["BOARDLOT_TEST_UPDATES"])


class TestKeyringStore(TokenStoreSuite):
    @pytest.fixture
    def open_store(self):
        return bl.KeyringStore
