"""The headers of a message, by their names in any case."""

from __future__ import annotations

from typing import Any


class Headers(dict[str, str]):
    """A dict that finds `Retry-After` and `retry-after` alike, and lists the names as they are."""

    def __getitem__(self, name: str) -> str:
        return super().__getitem__(self._listed(name))

    def __contains__(self, name: object) -> bool:
        return super().__contains__(self._listed(name))

    def get(self, name: str, default: Any = None) -> Any:
        return super().get(self._listed(name), default)

    def _listed(self, name: Any) -> Any:
        if not isinstance(name, str) or super().__contains__(name):
            return name
        return next((key for key in self if key.lower() == name.lower()), name)
