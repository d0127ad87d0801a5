"""A document's claims about results, as conditions that the lab checks, and the verdicts on the claims."""

from typing import Literal

import msgspec

from tuilab.model.arms import ArmPattern, family

VerdictWord = Literal["confirmed", "refuted", "undecided", "untestable", "impossible"]
"""The possible verdicts. `impossible` means that, according to the computed bounds (`analysis.roofline`), no
GPU could meet the condition; no GPU was measured.
"""


class _Condition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind"):
    @property
    def patterns(self) -> tuple[ArmPattern, ...]:
        return tuple(getattr(self, name) for name in ("a", "b", "arms") if hasattr(self, name))

    @property
    def about_gpu(self) -> bool:
        named = (getattr(self, name, "") for name in ("device", "value"))
        words = (*(pattern.device for pattern in self.patterns), *named)
        return any(family(word) == "GPU" for word in words if isinstance(word, str))


class Faster(_Condition, frozen=True, kw_only=True, tag="faster"):
    """The fastest of the arms `a` is `by` to `most` times as fast as the fastest of the arms `b`."""

    a: ArmPattern
    """The arms that should be faster."""
    b: ArmPattern
    """The arms that should be slower."""
    by: float = 1.0
    """Minimum speedup."""
    most: float | None = None
    """Maximum speedup; None for no maximum."""

    @property
    def amount(self) -> str:
        """The claimed range, such as `at least 2×`, `at most 4×` or `1.6× to 2.5×`."""
        if self.most is None:
            return f"at least {self.by:g}×"
        return f"{self.by:g}× to {self.most:g}×" if self.by > 1 else f"at most {self.most:g}×"


class PlacedOn(_Condition, frozen=True, kw_only=True, tag="placed-on"):
    """Ops of type `op` ran on a device of family `device` in the arms that match `arms`."""

    op: str
    """Op type, such as `MatMul`."""
    device: str
    """`CPU` or `GPU`."""
    arms: ArmPattern = ArmPattern()
    """The arms to check; empty for every arm."""


class KernelFor(_Condition, frozen=True, kw_only=True, tag="kernel-for"):
    """This TensorFlow build has (or, with `exists` false, lacks) a kernel of `op` for `dtype` on `device`."""

    op: str
    """Op type, such as `MatMul`."""
    dtype: str
    """The dtype, such as `float64`."""
    device: str = "GPU"
    exists: bool = True
    """False to claim that the build has no such kernel."""


class Raises(_Condition, frozen=True, kw_only=True, tag="raises"):
    """The arms that match `arms` fail with an error of type `error`."""

    error: str
    """The exception's type, or one of its base classes."""
    arms: ArmPattern = ArmPattern()


class WaitsForInput(_Condition, frozen=True, kw_only=True, tag="waits-for-input"):
    """The arms that match `arms` spend at least `share` (0 … 1) of a call waiting for their input."""

    share: float
    """Minimum share of a call, 0 … 1."""
    arms: ArmPattern = ArmPattern()


class PhaseShare(_Condition, frozen=True, kw_only=True, tag="phase-share"):
    """The named phases together take at least `share` (0 … 1) of a call in the arms that match `arms`."""

    phases: tuple[str, ...]
    """Names of the phases to add up."""
    share: float
    """Minimum share of a call, 0 … 1."""
    arms: ArmPattern = ArmPattern()


class ShareGrows(_Condition, frozen=True, kw_only=True, tag="share-grows"):
    """The named phases together take a larger share of a call at the largest value of `axis` than at the
    smallest.
    """

    phases: tuple[str, ...]
    """Names of the phases to add up."""
    axis: str
    """The swept parameter."""
    arms: ArmPattern = ArmPattern()


class Crosses(_Condition, frozen=True, kw_only=True, tag="crosses"):
    """As the size along `axis` grows, `a` overtakes `b` somewhere between `low` and `high`."""

    a: ArmPattern
    b: ArmPattern
    axis: str
    """The swept parameter."""
    low: int
    """Lower end of the claimed range of sizes."""
    high: int
    """Upper end of the claimed range of sizes."""


class FactIs(_Condition, frozen=True, kw_only=True, tag="fact"):
    """The observed value of the named fact is equal to `value`, or at least or at most `value`."""

    fact: str
    """The fact's name, as in a result's `facts`."""
    value: bool | int | float | str
    relation: Literal["is", "at-least", "at-most"] = "is"
    """How the observed value must compare with `value`: `is` (equal), `at-least` or `at-most`."""
    arms: ArmPattern = ArmPattern()


class SamePlacement(_Condition, frozen=True, kw_only=True, tag="same-placement"):
    """The ops of the arms that match `arms` run on the same devices at every point of `axis`; if `same` is
    false, some op moves to another device.
    """

    axis: str
    """The swept parameter."""
    arms: ArmPattern = ArmPattern()
    same: bool = True
    """False to claim that the placement changes along the axis."""


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
    """A document's statement in our own words, with a condition to check."""

    text: str
    """The statement in our own words."""
    when: Condition
    """The statement as a condition that the lab checks."""
    quoted: str = ""
    """The sentence that the program extracted from the document; empty if a person wrote the claim."""
    advice: str = ""
    """Advice shown with the verdict."""
    said: str = ""
    """The document's word for the size of the effect ("significant"). The lab chooses the threshold that this
    word stands for.
    """
    hedged: str = ""
    """The word with which the document hedges ("might"). A hedged claim is not refuted by results from a
    single machine.
    """
    gpu: bool = False
    """True if the claim is about a GPU and therefore cannot be tested on a host without one."""

    @property
    def about_gpu(self) -> bool:
        return self.gpu or self.when.about_gpu

    @property
    def about_times(self) -> bool:
        """True if measured times decide the claim; False if an observation does, such as a missing kernel."""
        return isinstance(self.when, Faster | WaitsForInput | PhaseShare | ShareGrows | Crosses)


class Verdict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The verdict on a claim, with one sentence of evidence."""

    text: str
    """The claim's text."""
    verdict: VerdictWord
    """`confirmed`, `refuted`, `undecided`, `untestable`, or `impossible` (by computed bounds, no GPU could
    meet the condition).
    """
    evidence: str
    """The reason for the verdict, in one sentence with numbers."""
    host: str = ""
    """The host on which the arms were measured, as in `Arm.host`."""
    emulated: bool = False
    """True if the verdict is based on an emulated GPU."""
    apart: str = ""
    """How the measured settings differ from the claim's, such as `with samples 4,096 instead of 256`."""
