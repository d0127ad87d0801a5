"""A cell: one arm at one point of the run, built and ready to be timed."""

from dataclasses import dataclass, field

from tuilab.model.arms import Arm
from tuilab.workloads.base import Case


@dataclass(frozen=True)
class Warmth:
    """How a warm-up ended: busy seconds, calls made, and whether the pace was steady at the end."""

    seconds: float
    calls: int
    warm: bool


@dataclass
class TimedArm:
    """What is timed, how many calls make a block of it, and its figures so far.

    device: the one that computed, as observed. ops: TensorFlow ops in one call; host_ops: those among them
    that ran on the CPU although another device computed. calls: in a block. call_s: seconds of one call, as
    last seen. visit_s: seconds that its last turn took in all. samples: seconds per call, one a block.
    """

    arm: Arm
    point: int
    case: Case
    device: str = ""
    ops: int = 0
    host_ops: int = 0
    calls: int = 1
    call_s: float = 0.0
    visit_s: float = 0.0
    warmth: Warmth = Warmth(0.0, 0, False)
    samples: list[float] = field(default_factory=list)
    latencies: list[float] = field(default_factory=list)

    @property
    def cost_s(self) -> float:
        """Seconds that its next turn should take, with the scope, the lead-in and the single call."""
        return self.visit_s or self.call_s * (self.calls + (2 if self.calls > 1 else 0))
