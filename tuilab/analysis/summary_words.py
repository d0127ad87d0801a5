"""Builds the sentences of a run's summary. The numbers come from `analysis.summary`."""

from collections.abc import Mapping

from tuilab.analysis.ratios import RatioEstimate
from tuilab.analysis.reading import by_rounds, device_of, nodes_at, words_at
from tuilab.analysis.words import listed
from tuilab.model.arms import family
from tuilab.model.parameters import Value
from tuilab.model.quantity import plural
from tuilab.model.run import ArmState


def together_sentence(arm: ArmState, alone: ArmState, slowdown: RatioEstimate, point: int) -> str:
    apart = by_rounds(slowdown, arm, alone, point) if slowdown.differs else ""
    figures = f"{words_at(arm, point)} against {words_at(alone, point)} alone"
    return f"{alone.label} while the other devices ran: {_difference(slowdown)} ({figures}{apart})."


def _difference(slowdown: RatioEstimate) -> str:
    if not slowdown.differs:
        return "no difference beyond the noise"
    if slowdown.ratio > 1:
        return f"{slowdown.words} slower {slowdown.span}"
    return f"{slowdown.turned.words} faster {slowdown.turned.span}"


def elsewhere_words(arm: ArmState, point: int) -> str:
    return f"asked for {arm.arm.device}, computed on {device_of(arm, point)}"


def visiting_words(arm: ArmState, point: int) -> str:
    """Describe the ops of a CPU arm that ran on a GPU.

    If a GPU is visible, a tf.Variable created outside the function is on the GPU.
    """
    ops = [n for n in nodes_at(arm, point) if n.kind == "op" and family(n.device) == "GPU"]
    if family(arm.arm.device) != "CPU" or not ops:
        return ""
    number = sum(op.count for op in ops)
    names = sorted({op.op for op in ops})
    return (
        f"{plural(number, 'op')} of a call ({listed(names[:3])}) ran on {ops[0].device}, so each call copies "
        "data from or to it"
    )


def at_place(values: Mapping[str, Value], message: str) -> str:
    """Prefix a caveat with its point in a sweep: `at samples 256: …`."""
    return f"at {listed([f'{name} {value}' for name, value in values.items()])}: {message}"
