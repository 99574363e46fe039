"""Spans of time for people. The clock itself is always an argument of what decides."""

from __future__ import annotations

from datetime import datetime, timedelta

from rca_rollout.api.values import format_time

stamp = format_time


def short(span: timedelta) -> str:
    """`90s`, `12m`, `3h10m`, `2d4h`: the two leading units."""
    seconds = max(0, int(span.total_seconds()))
    days, rest = divmod(seconds, 86400)
    hours, rest = divmod(rest, 3600)
    minutes, seconds = divmod(rest, 60)
    parts = [f"{n}{unit}" for n, unit in ((days, "d"), (hours, "h"), (minutes, "m"), (seconds, "s")) if n]
    return "".join(parts[:2]) or "0s"


def earliest(*moments: datetime | None) -> datetime | None:
    """The first of the given moments; None when there is none."""
    return min((m for m in moments if m is not None), default=None)
