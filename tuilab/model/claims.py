"""What a document states, as a condition on results; and the lab's answer."""

from typing import Literal

import msgspec

from tuilab.model.arms import ArmPattern

VerdictWord = Literal["confirmed", "refuted", "undecided", "untestable", "impossible"]
"""impossible: not measured, but no GPU could meet the condition, by the bound (`analysis.roofline`)."""


class _Condition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind"):
    pass


class Faster(_Condition, frozen=True, kw_only=True, tag="faster"):
    """The fastest arm of `a` is faster than the fastest arm of `b` by at least the factor `by`."""

    a: ArmPattern
    """Arms."""
    b: ArmPattern
    """Arms."""
    by: float = 1.0
    """At least that many times as fast."""


class PlacedOn(_Condition, frozen=True, kw_only=True, tag="placed-on"):
    """Ops of type `op` in the arms of `arms` ran on a device of family `device`."""

    op: str
    """Its type, `MatMul`."""
    device: str
    """`CPU` or `GPU`."""
    arms: ArmPattern = ArmPattern()
    """Empty for every arm."""


class KernelFor(_Condition, frozen=True, kw_only=True, tag="kernel-for"):
    """This TensorFlow build has (or, with `exists` false, lacks) a kernel of `op` for `dtype` on `device`."""

    op: str
    """Its type."""
    dtype: str
    """`float64`."""
    device: str = "GPU"
    exists: bool = True
    """False: the build lacks it."""


class Raises(_Condition, frozen=True, kw_only=True, tag="raises"):
    """The arms of `arms` fail with the error type `error`."""

    error: str
    """The exception's type or one of its bases."""
    arms: ArmPattern = ArmPattern()


class WaitsForInput(_Condition, frozen=True, kw_only=True, tag="waits-for-input"):
    """The arms of `arms` spend at least `share` (0 … 1) of a call waiting for their input."""

    share: float
    """Of a call, 0 … 1."""
    arms: ArmPattern = ArmPattern()


class PhaseShare(_Condition, frozen=True, kw_only=True, tag="phase-share"):
    """The named phases together take at least `share` (0 … 1) of a call in the arms of `arms`."""

    phases: tuple[str, ...]
    """Names of phases, summed."""
    share: float
    """Of a call, 0 … 1."""
    arms: ArmPattern = ArmPattern()


class ShareGrows(_Condition, frozen=True, kw_only=True, tag="share-grows"):
    """The named phases together take a larger part of a call at the largest size of `axis` than at the
    least."""

    phases: tuple[str, ...]
    """Names of phases, summed."""
    axis: str
    """The parameter swept."""
    arms: ArmPattern = ArmPattern()


class Crosses(_Condition, frozen=True, kw_only=True, tag="crosses"):
    """Along `axis`, `a` overtakes `b` somewhere from `low` to `high`."""

    a: ArmPattern
    b: ArmPattern
    axis: str
    """The parameter swept."""
    low: int
    """The least size."""
    high: int
    """The largest size."""


class FactIs(_Condition, frozen=True, kw_only=True, tag="fact"):
    """The workload observed the named fact, and it has this value (or at least / at most it)."""

    fact: str
    """Its name."""
    value: bool | int | float | str
    relation: Literal["is", "at-least", "at-most"] = "is"
    """`is`, `at-least` or `at-most`."""
    arms: ArmPattern = ArmPattern()


class SamePlacement(_Condition, frozen=True, kw_only=True, tag="same-placement"):
    """The placement of the arms of `arms` is the same (or, with `same` false, changes) along `axis`."""

    axis: str
    """The parameter swept."""
    arms: ArmPattern = ArmPattern()
    same: bool = True
    """False: the placement changes along it."""


Condition = (
    Faster
    | PlacedOn
    | KernelFor
    | Raises
    | WaitsForInput
    | PhaseShare
    | ShareGrows
    | Crosses
    | FactIs
    | SamePlacement
)


class Claim(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A document's statement in our words, with the condition under which it holds."""

    text: str
    """In our words."""
    when: Condition
    """The condition under which it holds."""
    quoted: str = ""
    """The document's sentence as a machine read it; empty if a user wrote the claim."""
    advice: str = ""
    """What a reader should do, once the verdict is known."""
    said: str = ""
    """The document's word for how much ("significant"), of which the condition's threshold is our reading."""
    hedged: str = ""
    """The document's word ("might") where it says that something can be so, not that it is: one machine where
    it is not so refutes nothing."""
    gpu: bool = False
    """It speaks of a GPU, so that nothing seen on a host without one has on it."""


class Verdict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The lab's answer to a claim, with its evidence in one sentence with numbers."""

    text: str
    """The claim's text."""
    verdict: VerdictWord
    """`confirmed`, `refuted`, `undecided` or `untestable`."""
    evidence: str
    """One sentence with numbers."""
    host: str = ""
    """On which of a run's hosts, by its name in `Arm.host`."""
