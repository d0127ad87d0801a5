"""An arm: one of the variants of a scenario that a run compares."""

from collections.abc import Sequence
from typing import Literal

import msgspec

Mode = Literal["eager", "graph", "xla"]
Input = Literal["resident", "copied"]
MODES: tuple[Mode, ...] = ("eager", "graph", "xla")
INPUTS: tuple[Input, ...] = ("resident", "copied")

EVERY = ":*"
"""Suffix that selects all devices in a family: `GPU:*`."""

HERE = ""
"""The name of this machine in `Arm.host`."""
LOCAL = "local"
"""The name for this machine in lists that also contain other machines."""


def family(device: str) -> str:
    """Return a device's family: `GPU:1` → `GPU`."""
    return device.partition(":")[0]


class Arm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One variant of a scenario: a device, an execution mode, an input location, a dtype and a workload
    variant.
    """

    device: str
    """The requested device: `CPU:0` or `GPU:n`. The device that actually computes is observed later."""
    mode: Mode
    """`eager`, `graph` or `xla`."""
    input: Input = "resident"
    """`resident` if the input stays on the device, `copied` if each call copies it there."""
    dtype: str = "float32"
    variant: str = ""
    """The workload variant, such as `training`; "" if the workload has none."""
    host: str = ""
    """"" for this machine, else the ssh name of the host."""
    together: bool = False
    """True if the run's other devices compute at the same time, each in its own worker."""

    @property
    def id(self) -> str:
        """A stable name, such as `cpu0.graph.resident.float32`, plus the variant and host if there
        are any.
        """
        parts = [self.device.lower().replace(":", ""), self.mode, self.input, self.dtype]
        if self.variant:
            parts.append(self.variant)
        if self.together:
            parts.append("together")
        return (f"{self.host}/" if self.host else "") + ".".join(part for part in parts if part)


class ArmSelection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A selection of arms: every sensible combination of the listed devices, modes, inputs, dtypes and
    variants.
    """

    devices: tuple[str, ...] = ("CPU", "GPU")
    """Families (`CPU`; `GPU` for the first GPU; `GPU:*` for all GPUs) or single devices (`GPU:1`)."""
    modes: tuple[Mode, ...] = MODES
    inputs: tuple[Input, ...] = INPUTS
    dtypes: tuple[str, ...] = ()
    """Dtypes to measure; if empty, the dtype parameter of the scenario applies."""
    variants: tuple[str, ...] = ()
    """Variants to measure; if empty, all variants that the workload declares."""


class ArmPattern(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A filter for arms; an empty field matches anything. `device` is a family (`GPU`) or a single device
    (`GPU:1`).
    """

    device: str = ""
    mode: str = ""
    input: str = ""
    dtype: str = ""
    variant: str = ""

    def matches(self, arm: Arm) -> bool:
        """Return True if the arm matches every nonempty field, and its device computes alone (`together` is
        false).
        """
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
    """Return short labels that distinguish the arms: `CPU graph`, `GPU eager copied`."""
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
