"""What goes between the lab and a program that it watches on another machine: lines of JSON."""

import msgspec

from tuilab.model.program import Page


class Wrote(msgspec.Struct, frozen=True, tag="wrote"):
    """The program has written that to its terminal."""

    data: bytes


class Shown(msgspec.Struct, frozen=True, tag="page"):
    """Its page now, and seconds of the latest steps by their numbers."""

    page: Page
    steps: dict[int, float] = {}


class Over(msgspec.Struct, frozen=True, tag="over"):
    """It has ended, with that exit code; negative for a signal."""

    code: int


class Type(msgspec.Struct, frozen=True, tag="type"):
    """Type that at its terminal."""

    data: bytes


class Signal(msgspec.Struct, frozen=True, tag="signal"):
    """Send it that signal."""

    number: int


class Resize(msgspec.Struct, frozen=True, tag="resize"):
    """Its terminal has that size."""

    columns: int
    rows: int


class Choose(msgspec.Struct, frozen=True, tag="choose"):
    """The page is to be of that process; 0 for the busiest one."""

    pid: int


Said = Wrote | Shown | Over
Asked = Type | Signal | Resize | Choose
