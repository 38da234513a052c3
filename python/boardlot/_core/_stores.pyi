"""Token stores. `boardlot` exports those of `__all__`."""

from collections.abc import Callable
from os import PathLike
from typing import Any, final

from typing_extensions import Self, disjoint_base

__all__ = ["EncryptedFileStore", "KeyringStore", "MemoryStore"]

@disjoint_base
class TokenStoreBase:
    """The base class of the token stores."""

    def load(self, key: str) -> bytes | None:
        """Returns the bytes stored under `key`, or None."""
    def save(self, key: str, data: bytes) -> None:
        """Stores the bytes of `data` under `key`."""
    def delete(self, key: str) -> None:
        """Deletes `key`, if it exists."""

@final
class KeyringStore(TokenStoreBase):
    """The keychain of the operating system: Secret Service, Keychain or Credential Manager. For your own machine.

    Each method raises `StoreError` if the keychain cannot be used. Tokens are never stored as plain text
    instead. For an example of the methods, see `MemoryStore`.
    """

    def __new__(cls) -> Self: ...
    def __getnewargs__(self) -> tuple[()]: ...

@final
class EncryptedFileStore(TokenStoreBase):
    """A file that is encrypted with AES-256-GCM. Argon2id derives the key from a passphrase. For servers and
    containers.

    `path` is the file; a missing folder is created, for its owner only. `passphrase` is a string, or a
    callable without arguments that returns one and is called when it is needed. Each method raises
    `StoreError` for a wrong passphrase, a modified file, or a file that other users can access; the file
    is not changed.

    >>> store = bl.EncryptedFileStore(folder / "tokens", "a passphrase")
    >>> store.save("key", b"a secret")
    >>> store.load("key")
    b'a secret'
    >>> store.delete("key")
    """

    def __new__(cls, path: str | PathLike[str], passphrase: str | Callable[[], str]) -> Self: ...
    @property
    def path(self) -> Any:
        """The file."""
    def __getnewargs__(self) -> Any: ...

@final
class MemoryStore(TokenStoreBase):
    """Stores tokens in memory, until the process ends. For tests.

    >>> store = bl.MemoryStore()
    >>> store.save("key", b"a secret")
    >>> store.load("key")
    b'a secret'
    >>> store.delete("key")
    """

    def __new__(cls) -> Self: ...
    def __getnewargs__(self) -> Any: ...
