"""The suite over the keychain: `test_every_store.py` runs it in a session that has one."""

import boardlot as bl
import pytest
from boardlot.testing import TokenStoreSuite


class TestKeyringStore(TokenStoreSuite):
    @pytest.fixture
    def open_store(self):
        return bl.KeyringStore
