"""A time account: the time of a call, split into phases. Screens, reports and JSON take all phase times from
an account.
"""

import math
from typing import Annotated, Literal

import msgspec

from tuilab.model.quantity import half_of

Source = Literal["profiled", "timed apart", "empty call", "drained input", "remainder"]
"""How a part's time was obtained: `profiled`, by the TensorFlow profiler; `timed apart`, by a separate
timing; `empty call`, from an otherwise equal call that does no work; `drained input`, from a profile that
starts with empty input buffers; `remainder`, what the other parts leave of the call.
"""

Part_s = Annotated[float, msgspec.Meta(ge=0.0, le=1e12)]

NOT_KNOWN = "not_known"
COPIES = ("copy_in", "copy_out", "copy")
STALL = "stall"
PY_FUNCTION = "py_function"
ORDER = ("python", "dispatch", "copy_in", "input_wait", PY_FUNCTION, "compute", STALL, "copy", "copy_out")
"""Phases in the order in which a call passes through them. In an account, a workload's own phases come next,
and the unexplained remainder comes last.
"""

PHASE_HELP = {
    "python": "Python and the libraries that it calls, outside TensorFlow",
    "dispatch": "TensorFlow's Python and runtime before and between ops; ops of a few µs",
    "copy_in": "copies to the device, while nothing computes",
    "input_wait": "waiting for the input",
    PY_FUNCTION: "Python that an op calls (tf.py_function), while nothing computes",
    "compute": "at least one kernel of the call runs",
    STALL: "the device waits for ops on the host, or for a copy between two kernels",
    "copy": "other copies between devices, while nothing computes",
    "copy_out": "copies back to the host, while nothing computes",
    NOT_KNOWN: "time that no measurement can attribute",
}


PHASE_WORDS = {
    "python": "Python",
    "dispatch": "dispatch",
    "copy_in": "copying in",
    "compute": "computing",
    "copy_out": "copying out",
    "input_wait": "waiting for input",
    PY_FUNCTION: "Python in py_function",
    STALL: "waiting for the host",
}
"""Phase names for sentences, as in "copying in takes 71% of a call"."""


class Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The time that one phase takes in a call."""

    phase: str
    """A key of `PHASE_HELP`, or a workload's own name for a phase, such as `compress`."""
    seconds: Part_s
    source: Source
    ci95_s: tuple[float, float] | None = None
    """The 95% interval of `seconds`; None if only one call was profiled."""

    @property
    def half_width_s(self) -> float | None:
        return half_of(self.ci95_s)


class Account(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The time of a call, divided into parts that do not overlap and add up to `total_s`."""

    total_s: Part_s
    """Seconds per call. In a worker's event: measured without the profiler, shortly before or after the
    profiled calls. In a result: the arm's median.
    """
    parts: tuple[Part, ...]
    """The parts in the order of `ORDER`, without parts that take no time."""
    calls: int = 0
    """Number of profiled calls."""
    cost_s: Part_s = 0.0
    """Seconds spent on measuring this account, after the rounds."""
    note: str = ""
    """Why a part is unknown, or another remark about the account."""

    def seconds(self, *phases: str) -> float:
        return sum(part.seconds for part in self.parts if part.phase in phases)

    def share(self, *phases: str) -> float:
        """Return the share (0 … 1) of a call that these phases take together."""
        return self.seconds(*phases) / self.total_s if self.total_s > 0 else 0.0

    def least_share(self, *phases: str) -> float:
        """Return the lower limit of the share of a call that these phases take together, from the phases' 95%
        intervals. A phase without an interval counts in full.
        """
        spent = [part for part in self.parts if part.phase in phases]
        below = [part.seconds - part.ci95_s[0] for part in spent if part.ci95_s is not None]
        least_s = max(0.0, self.seconds(*phases) - math.hypot(*below))
        return least_s / self.total_s if self.total_s > 0 else 0.0

    @property
    def not_known(self) -> float:
        """The share (0 … 1) of the call that no phase explains."""
        return self.share(NOT_KNOWN)


def in_order(phases: dict[str, float]) -> list[str]:
    own = [name for name in phases if name not in ORDER and name != NOT_KNOWN]
    return [name for name in (*ORDER, *own, NOT_KNOWN) if name in phases]
