"""No real browser is opened."""

from ..support.fixtures import opened, place, server

__all__ = ["opened", "place", "server"]
