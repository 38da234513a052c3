"""No real browser is opened."""

from ..support.fixtures import login, opened, openers, place, server

__all__ = ["login", "opened", "openers", "place", "server"]
