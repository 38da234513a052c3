"""No real browser is opened."""

from .fixtures import opened, place, server

__all__ = ["opened", "place", "server"]
