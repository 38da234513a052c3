"""The step about the rate limit: which one applies, and how much of it is free."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from boardlot import _core
from boardlot.clients.profile_auth import application_of
from boardlot.doctor.findings import Finding, run_step

__all__ = ["limit_step", "profile_limit"]


def profile_limit(profile: Mapping[str, Any]) -> Any:
    """The limit of a profile's entry; `None` if it has none."""
    rate = profile.get("rate_limit")
    if rate is None or not profile["rate_limit_shared"]:
        return rate
    return _core._application_limit(rate, profile["base_url"], application_of(profile))


def limit_step(base_url: str, limit: Any) -> Callable[[], Finding] | None:
    """What reports this limit of a client; `None` without one."""
    if limit is None:
        return None

    def check() -> str:
        import boardlot

        with boardlot.Client(base_url, rate_limit=limit) as client:
            shown = client.explain("GET", "/api/v1.0/server-time").rate_limit
        return shown or "none"

    return lambda: run_step("rate limit", check)
