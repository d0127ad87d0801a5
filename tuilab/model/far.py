"""JSON lines between the lab and a watched program on another machine."""

import msgspec

from tuilab.model.program import Page


class Wrote(msgspec.Struct, frozen=True, tag="wrote"):
    """The program wrote this to its terminal."""

    data: bytes


class Shown(msgspec.Struct, frozen=True, tag="page"):
    """Its current page, and the seconds of the latest steps by number."""

    page: Page
    steps: dict[int, float] = {}


class Over(msgspec.Struct, frozen=True, tag="over"):
    """The program ended with that exit code; negative for a signal."""

    code: int


class Type(msgspec.Struct, frozen=True, tag="type"):
    """Type this at its terminal."""

    data: bytes


class Signal(msgspec.Struct, frozen=True, tag="signal"):
    """Send it this signal."""

    number: int


class Resize(msgspec.Struct, frozen=True, tag="resize"):
    """Set the size of its terminal."""

    columns: int
    rows: int


class Choose(msgspec.Struct, frozen=True, tag="choose"):
    """Show this process on the page; 0 for the busiest one."""

    pid: int


Said = Wrote | Shown | Over
Asked = Type | Signal | Resize | Choose
