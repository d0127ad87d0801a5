"""Where one call's time goes: the one account that every view, sentence and field of the JSON reads."""

from typing import Annotated, Literal

import msgspec

from tuilab.model.quantity import half_of

Source = Literal["profiled", "timed apart", "empty call", "drained input", "remainder"]
"""What a part is known from: TensorFlow's profiler; a timing of that part by itself; an equal call without
work; a profile that began when nothing lay ready in the input's buffers; nothing but what the others leave
over."""

Part_s = Annotated[float, msgspec.Meta(ge=0.0, le=1e12)]

NOT_KNOWN = "not_known"
COPIES = ("copy_in", "copy_out", "copy")
STALL = "stall"
ORDER = ("python", "dispatch", "copy_in", "input_wait", "compute", STALL, "copy", "copy_out")
"""Of the phases, as a call goes through them; a workload's own names come behind, what is not known last."""

PHASE_HELP = {
    "python": "Python and the libraries that it calls, outside TensorFlow",
    "dispatch": "TensorFlow's Python and runtime on the way to ops and between them; ops of a few µs",
    "copy_in": "copies to the device, while nothing computes",
    "input_wait": "waiting for the input",
    "compute": "at least one kernel of the call runs",
    STALL: "the device waits for ops of the host, or between two kernels for a copy",
    "copy": "other copies between devices, while nothing computes",
    "copy_out": "copies back to the host, while nothing computes",
    NOT_KNOWN: "what nothing that was measured tells apart",
}


PHASE_WORDS = {
    "python": "Python",
    "dispatch": "dispatch",
    "copy_in": "copying in",
    "compute": "computing",
    "copy_out": "copying out",
    "input_wait": "waiting for input",
    STALL: "waiting for the host",
}
"""As a sentence has them: "copying in takes 71% of a call"."""


class Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One phase's part of a call."""

    phase: str
    """A key of `PHASE_HELP`, or a workload's own name for what it marks, such as `compress`."""
    seconds: Part_s
    source: Source
    ci95_s: tuple[float, float] | None = None
    """Its 95% interval; None if one call was looked at."""

    @property
    def half_width_s(self) -> float | None:
        """Return half the length of its 95% interval."""
        return half_of(self.ci95_s)


class Account(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A call's parts, each moment in one of them: they add up to `total_s`."""

    total_s: Part_s
    """Seconds of a call: of those alongside the profile as the worker tells it, the arm's median in a result.
    """
    parts: tuple[Part, ...]
    """In the order of `ORDER`; without those that take no time."""
    calls: int = 0
    """How many were profiled; 0 if none was."""
    cost_s: Part_s = 0.0
    """Seconds that finding it out took, after the rounds."""
    note: str = ""
    """Why something is not known, or what else is to be said of it."""

    def seconds(self, *phases: str) -> float:
        """Return the seconds of these phases together."""
        return sum(part.seconds for part in self.parts if part.phase in phases)

    def share(self, *phases: str) -> float:
        """Return the share of a call (0 … 1) that these phases take together."""
        return self.seconds(*phases) / self.total_s if self.total_s > 0 else 0.0

    @property
    def not_known(self) -> float:
        """The share (0 … 1) that is not known."""
        return self.share(NOT_KNOWN)


def in_order(phases: dict[str, float]) -> list[str]:
    """Return the names of phases as a call goes through them."""
    own = [name for name in phases if name not in ORDER and name != NOT_KNOWN]
    return [name for name in (*ORDER, *own, NOT_KNOWN) if name in phases]
