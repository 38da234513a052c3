"""No real browser is opened but by the tests that drive one."""

from ..support.fixtures import opened, place, server

__all__ = ["opened", "place", "server"]
