"""`TokenStore`: the interface of an object that keeps the tokens of logins."""

from __future__ import annotations

from typing import Protocol

__all__ = ["TokenStore"]


class TokenStore(Protocol):
    """A store for the tokens of logins: a built-in one, or your own object.

    Its methods are called on worker threads, never on an event loop's thread, and are not coroutine
    functions: a store whose methods are `async def` is refused with a `ConfigError` when it is
    passed. Exceptions that they raise become `StoreError`.

    A fourth method, `lock(key)`, may return a context manager that excludes all other workers for
    this key: a token is then refreshed once for all processes, otherwise once in each.

    Examples:
        >>> store: bl.TokenStore = bl.MemoryStore()
        >>> store.save("key", b"a secret")
        >>> store.load("key")
        b'a secret'
    """

    def load(self, key: str, /) -> bytes | None:
        """The bytes of `key`, or `None` if there are none.

        >>> bl.MemoryStore().load("key") is None
        True
        """
        ...

    def save(self, key: str, data: bytes, /) -> None:
        """Stores the bytes of `key`, in place of earlier ones.

        >>> bl.MemoryStore().save("key", b"a secret")
        """
        ...

    def delete(self, key: str, /) -> None:
        """Deletes the bytes of `key`, if there are any.

        >>> bl.MemoryStore().delete("key")
        """
        ...
