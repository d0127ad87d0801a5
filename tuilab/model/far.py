"""Messages between the lab and a watched program on another machine, as JSON lines."""

import msgspec

from tuilab.model.program import Page


class Wrote(msgspec.Struct, frozen=True, tag="wrote"):
    """Text that the program wrote to its terminal."""

    data: bytes


class Shown(msgspec.Struct, frozen=True, tag="page"):
    """The program's current page, and the seconds of its latest steps by step number."""

    page: Page
    steps: dict[int, float] = {}


class Over(msgspec.Struct, frozen=True, tag="over"):
    """The program's exit code; negative if a signal killed it."""

    code: int


class Type(msgspec.Struct, frozen=True, tag="type"):
    """Type this text at the program's terminal."""

    data: bytes


class Signal(msgspec.Struct, frozen=True, tag="signal"):
    number: int


class Resize(msgspec.Struct, frozen=True, tag="resize"):
    columns: int
    rows: int


class Choose(msgspec.Struct, frozen=True, tag="choose"):
    """Show the page of the process with this id; 0 selects the busiest process."""

    pid: int


Said = Wrote | Shown | Over
Asked = Type | Signal | Resize | Choose
