"""No real browser is opened."""

from ..support.fixtures import opened, openers, place, server

__all__ = ["opened", "openers", "place", "server"]
