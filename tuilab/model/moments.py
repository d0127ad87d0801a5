"""Moments as a user reads them: kept in UTC, shown in this machine's zone, or in UTC where asked for."""

from datetime import UTC, datetime

in_utc = False
"""Whether this process shows UTC."""


def when(at: str, *, seconds: bool = False) -> str:
    """Write a time in UTC, ISO 8601, as `2026-11-23 12:28`."""
    try:
        time = datetime.fromisoformat(at)
    except ValueError:
        return at[:16]
    time = time if time.tzinfo else time.replace(tzinfo=UTC)
    time = time.astimezone(UTC if in_utc else None)
    return f"{time:%Y-%m-%d %H:%M:%S}" if seconds else f"{time:%Y-%m-%d %H:%M}"


def zone() -> str:
    """Return ` UTC` behind a moment in UTC, and nothing behind one in this machine's zone."""
    return " UTC" if in_utc else ""
