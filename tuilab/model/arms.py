"""An arm: one measured variant of a scenario."""

from collections.abc import Sequence
from typing import Literal

import msgspec

Mode = Literal["eager", "graph", "xla"]
Input = Literal["resident", "copied"]
MODES: tuple[Mode, ...] = ("eager", "graph", "xla")
INPUTS: tuple[Input, ...] = ("resident", "copied")

EVERY = ":*"
"""After a family: every device of it, `GPU:*`."""

HERE = ""
"""This machine's name in `Arm.host`."""
LOCAL = "local"
"""What this machine is called alongside others."""


def family(device: str) -> str:
    """Return a device's family: `GPU:1` → `GPU`."""
    return device.partition(":")[0]


class Arm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Device × mode × where the input lives × dtype, and the workload's own variant."""

    device: str
    """As requested, `CPU:0` or `GPU:n`; which device computed is an observation made later."""
    mode: Mode
    """`eager`, `graph` or `xla`."""
    input: Input = "resident"
    """`resident` on the device, or `copied` there for each call."""
    dtype: str = "float32"
    variant: str = ""
    """The workload's own, "" for none."""
    host: str = ""
    """"" here, else the ssh name of the machine."""
    together: bool = False
    """While the run's other devices measure too, each in a worker of its own."""

    @property
    def id(self) -> str:
        """A stable name: `cpu0.graph.resident.float32`, with variant and host if it has any."""
        parts = [self.device.lower().replace(":", ""), self.mode, self.input, self.dtype]
        if self.variant:
            parts.append(self.variant)
        if self.together:
            parts.append("together")
        return (f"{self.host}/" if self.host else "") + ".".join(part for part in parts if part)


class ArmSelection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which arms a scenario is measured with: every sensible combination of these."""

    devices: tuple[str, ...] = ("CPU", "GPU")
    """Families (`CPU`; `GPU`: the first one; `GPU:*`: every one) or single devices (`GPU:1`)."""
    modes: tuple[Mode, ...] = MODES
    inputs: tuple[Input, ...] = INPUTS
    dtypes: tuple[str, ...] = ()
    """Empty for the one that the scenario's own dtype parameter names."""
    variants: tuple[str, ...] = ()
    """Empty for all that the workload declares."""


class ArmPattern(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arms by what they have in common; an empty field matches anything. `device` is a family or a device."""

    device: str = ""
    mode: str = ""
    input: str = ""
    dtype: str = ""
    variant: str = ""

    def matches(self, arm: Arm) -> bool:
        """Return whether the arm has every property that the pattern names, and was measured undisturbed."""
        return (
            not arm.together
            and self.device in ("", arm.device, family(arm.device))
            and self.mode in ("", arm.mode)
            and self.input in ("", arm.input)
            and self.dtype in ("", arm.dtype)
            and self.variant in ("", arm.variant)
        )

    def __str__(self) -> str:
        words = [self.device, self.mode, self.variant, self.dtype, self.input and f"input {self.input}"]
        return " ".join(word for word in words if word) or "any arm"


def labels(arms: Sequence[Arm]) -> list[str]:
    """Return a short name for each arm, saying what tells it from the others: `CPU graph`, `GPU eager
    copied`."""
    numbered = len({a.device for a in arms if family(a.device) == "GPU"}) > 1
    numbered = numbered or len({a.device for a in arms if family(a.device) == "CPU"}) > 1
    numbered = numbered or any(a.device not in ("CPU:0", "GPU:0") for a in arms)
    many = {name: len({getattr(a, name) for a in arms}) > 1 for name in ("dtype", "host", "mode", "variant")}
    inputs = {(a.device, a.mode, a.dtype, a.variant, a.host): set[str]() for a in arms}
    for arm in arms:
        inputs[arm.device, arm.mode, arm.dtype, arm.variant, arm.host].add(arm.input)
    out = []
    for arm in arms:
        words = [(arm.host or LOCAL) if many["host"] else "", arm.device if numbered else family(arm.device)]
        words += [
            arm.mode if many["mode"] or not many["variant"] else "",
            arm.variant if many["variant"] else "",
        ]
        words.append(arm.dtype if many["dtype"] else "")
        siblings = inputs[arm.device, arm.mode, arm.dtype, arm.variant, arm.host]
        words.append(arm.input if len(siblings) > 1 or arm.input == "copied" else "")
        words.append("together" if arm.together else "")
        out.append(" ".join(word for word in words if word))
    return out
