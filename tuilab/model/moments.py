"""Formats times for display, in the local time zone or in UTC. Times are stored in UTC."""

from datetime import UTC, datetime

in_utc = False


def when(at: str, *, seconds: bool = False) -> str:
    """Format a time (UTC, ISO 8601) for display: `2026-11-23 12:28`."""
    try:
        time = datetime.fromisoformat(at)
    except ValueError:
        return at[:16]
    time = time if time.tzinfo else time.replace(tzinfo=UTC)
    time = time.astimezone(UTC if in_utc else None)
    return f"{time:%Y-%m-%d %H:%M:%S}" if seconds else f"{time:%Y-%m-%d %H:%M}"


def zone() -> str:
    """Return the suffix ` UTC` if times are shown in UTC, else ""."""
    return " UTC" if in_utc else ""
