"""A preset: a scenario from a document, with its claim."""

import msgspec

from tuilab.model.arms import ArmSelection
from tuilab.model.claims import Claim
from tuilab.model.parameters import Value
from tuilab.model.scenario import Sweep


class Source(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The document that a preset comes from."""

    document: str
    """The number in the document's file name (`000`)."""
    example: int = 0
    """Number of the code example; 0 for a claim in prose."""
    title: str = ""
    """The document's title."""
    lines: tuple[int, int] | None = None
    """First and last line of the code, if known."""


class Preset(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A scenario with its source, its claims and the mistakes in the document's code."""

    title: str
    """A short title for a list."""
    workload: str
    """Name of a workload."""
    name: str = ""
    """The name on the command line; the file name without its suffix."""
    summary: str = ""
    """A summary in one or two sentences."""
    parameters: dict[str, Value] = {}
    """Values that differ from the workload's defaults."""
    marks: dict[str, tuple[int, ...]] = {}
    """The document's own values, marked on the parameter's slider."""
    arms: ArmSelection = ArmSelection()
    """The arms to compare."""
    source: Source | None = None
    """The source document."""
    claims: tuple[Claim, ...] = ()
    """The document's claims, as conditions."""
    wrong: str = ""
    """What the example's code fails to measure, in our words."""
    advice: str = ""
    """What to do instead."""
    sweep: Sweep | None = None
    """The axes to sweep."""
    file: str = ""
    """`path/to/file.py:function` of the user's code."""
