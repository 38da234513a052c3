"""No real browser is opened but by the tests that drive one."""

from ..support.fixtures import opened, openers, place, server

__all__ = ["opened", "openers", "place", "server"]
