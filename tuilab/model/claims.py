"""What a document states, as a condition on results; and the lab's answer."""

from typing import Literal

import msgspec

from tuilab.model.arms import ArmPattern

VerdictWord = Literal["confirmed", "refuted", "undecided", "untestable"]


class _Condition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind"):
    pass


class Faster(_Condition, frozen=True, kw_only=True, tag="faster"):
    """The fastest arm of `a` is faster than the fastest arm of `b` by at least the factor `by`."""

    a: ArmPattern
    b: ArmPattern
    by: float = 1.0


class PlacedOn(_Condition, frozen=True, kw_only=True, tag="placed-on"):
    """Ops of type `op` in the arms of `arms` ran on a device of family `device`."""

    op: str
    device: str
    arms: ArmPattern = ArmPattern()


class KernelFor(_Condition, frozen=True, kw_only=True, tag="kernel-for"):
    """This TensorFlow build has (or, with `exists` false, lacks) a kernel of `op` for `dtype` on `device`."""

    op: str
    dtype: str
    device: str = "GPU"
    exists: bool = True


class Raises(_Condition, frozen=True, kw_only=True, tag="raises"):
    """The arms of `arms` fail with the error type `error`."""

    error: str
    arms: ArmPattern = ArmPattern()


class WaitsForInput(_Condition, frozen=True, kw_only=True, tag="waits-for-input"):
    """The arms of `arms` spend at least `share` (0 … 1) of a call waiting for their input."""

    share: float
    arms: ArmPattern = ArmPattern()


class PhaseShare(_Condition, frozen=True, kw_only=True, tag="phase-share"):
    """The named phases together take at least `share` (0 … 1) of a call in the arms of `arms`."""

    phases: tuple[str, ...]
    share: float
    arms: ArmPattern = ArmPattern()


class Crosses(_Condition, frozen=True, kw_only=True, tag="crosses"):
    """Along `axis`, `a` overtakes `b` somewhere from `low` to `high`."""

    a: ArmPattern
    b: ArmPattern
    axis: str
    low: int
    high: int


class FactIs(_Condition, frozen=True, kw_only=True, tag="fact"):
    """The workload observed the named fact, and it has this value (or at least / at most it)."""

    fact: str
    value: bool | int | float | str
    relation: Literal["is", "at-least", "at-most"] = "is"
    arms: ArmPattern = ArmPattern()


class SamePlacement(_Condition, frozen=True, kw_only=True, tag="same-placement"):
    """The placement of the arms of `arms` is the same (or, with `same` false, changes) along `axis`."""

    axis: str
    arms: ArmPattern = ArmPattern()
    same: bool = True


Condition = (
    Faster | PlacedOn | KernelFor | Raises | WaitsForInput | PhaseShare | Crosses | FactIs | SamePlacement
)


class Claim(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A document's statement in our words, with the condition under which it holds.

    quoted: the document's sentence as a machine read it; empty where a person wrote the claim.
    advice: what a reader should do, once the verdict is known.
    """

    text: str
    when: Condition
    quoted: str = ""
    advice: str = ""


class Verdict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The lab's answer to a claim, with its evidence in one sentence with numbers.

    host: on which of a run's hosts, by its name in `Arm.host`.
    """

    text: str
    verdict: VerdictWord
    evidence: str
    host: str = ""
