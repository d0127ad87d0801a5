"""A document's claim, held against what was measured or observed."""

from collections.abc import Mapping
from typing import assert_never

from tuilab.analysis.claims_measured import crosses, faster, phase_share
from tuilab.analysis.claims_observed import fact_is, kernel_for, placed_on, raises, same_placement
from tuilab.analysis.matching import Finding
from tuilab.model.claims import (
    Claim,
    Condition,
    Crosses,
    FactIs,
    Faster,
    KernelFor,
    PhaseShare,
    PlacedOn,
    Raises,
    SamePlacement,
    Verdict,
    WaitsForInput,
)
from tuilab.model.run import RunState

Registry = Mapping[str, frozenset[str]]
"""The kernels of a TensorFlow build: op → its kernels as `dtype:device`, such as `float64:GPU`."""


def judge(claim: Claim, state: RunState, registry: Registry | None = None) -> Verdict:
    """confirmed, refuted, undecided or untestable here, with the evidence in a sentence with numbers.

    undecided: an interval holds the claimed threshold, or the run has not (yet) measured what it takes.
    untestable: this machine cannot measure it (no GPU is visible, the op or the arm does not run here).
    registry: for claims about kernels, where the run has no fact `kernel:<Op>:<dtype>:<device>`.
    """
    word, evidence = _judge(claim.when, state, registry or {})
    return Verdict(claim.text, word, evidence)


def _judge(when: Condition, state: RunState, registry: Registry) -> Finding:
    match when:
        case Faster():
            return faster(when, state)
        case Crosses():
            return crosses(when, state)
        case PhaseShare():
            return phase_share(state, when.arms, when.phases, when.share)
        case WaitsForInput():
            return phase_share(state, when.arms, ("input_wait",), when.share)
        case PlacedOn():
            return placed_on(when, state)
        case SamePlacement():
            return same_placement(when, state)
        case KernelFor():
            return kernel_for(when, state, registry)
        case Raises():
            return raises(when, state)
        case FactIs():
            return fact_is(when, state)
    assert_never(when)
