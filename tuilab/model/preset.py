"""A preset: a scenario, usually taken from a document, with the document's claims."""

import msgspec

from tuilab.model.arms import ArmSelection
from tuilab.model.claims import Claim
from tuilab.model.parameters import Value
from tuilab.model.scenario import Sweep


class Source(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The document that a preset comes from."""

    document: str
    """The number at the start of the document's file name (`000`)."""
    example: int = 0
    """Number of the code example; 0 for a claim in prose."""
    title: str = ""
    """The document's title."""
    lines: tuple[int, int] | None = None
    """First and last line of the code, if known."""


class Preset(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A scenario with its source, its claims and the mistakes in the document's code."""

    title: str
    """The preset's title in lists, at most 50 characters."""
    workload: str
    """Name of a workload. A preset file can name only a built-in workload, not your own code."""
    name: str = ""
    """The name used on the command line: the file name without its suffix."""
    summary: str = ""
    """What the preset measures, in one or two sentences."""
    parameters: dict[str, Value] = {}
    """Parameter values that differ from the workload's defaults."""
    marks: dict[str, tuple[int, ...]] = {}
    """The document's own values of a parameter, which are marked on its slider."""
    arms: ArmSelection = ArmSelection()
    """The arms to compare."""
    source: Source | None = None
    """The document that the preset comes from."""
    claims: tuple[Claim, ...] = ()
    """The document's claims, as conditions."""
    wrong: str = ""
    """Why the example's code does not measure its claim, in our own words."""
    advice: str = ""
    """The recommended alternative to the example's code."""
    sweep: Sweep | None = None
    """The axes to sweep; None to measure a single point."""
