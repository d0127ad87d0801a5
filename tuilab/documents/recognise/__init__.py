"""Finds the workloads that measure the same work as an example."""

from collections.abc import Callable, Iterator

from tuilab.documents.example import Example
from tuilab.documents.recognise.algebra import CHEAP, MINOR, NEGLIGIBLE, chains, detours, matmuls, timed_ops
from tuilab.documents.recognise.found import Found, Gap, Result, merged, swept
from tuilab.documents.recognise.pipelines import pipelines, trained_by_hand
from tuilab.documents.recognise.spectra import FILTERS, spectra
from tuilab.documents.recognise.storage import allocations, compressions, copies, readouts

__all__ = ["Found", "Gap", "recognise"]

MOST_FOUND, MOST_GAPS = 24, 20
RECOGNISERS: tuple[Callable[[Example], Iterator[Result]], ...] = (
    spectra,
    detours,
    matmuls,
    chains,
    copies,
    allocations,
    pipelines,
    compressions,
    readouts,
)
# Ops that are not reported as unmeasured.
_COVERED = {*CHEAP, *FILTERS, *MINOR, "tf.matmul", "tf.signal.stft", "tf.signal.rfft"}


def recognise(example: Example) -> tuple[list[Found], list[Gap]]:
    """Return the workloads for an example, without duplicates, and a gap for each part that no workload
    measures.
    """
    found: list[Found] = []
    gaps: dict[Gap, None] = {}
    for recogniser in RECOGNISERS:
        for result in recogniser(example):
            if isinstance(result, Found):
                found.append(result)
            else:
                gaps[result] = None
    for gap in _unmeasured_parts(example):
        gaps[gap] = None
    whole = swept(_without_parts(merged(found)))[:MOST_FOUND]
    for one in whole:
        _count_timed(example, one)
    return whole, list(gaps)[:MOST_GAPS]


def _count_timed(example: Example, found: Found) -> None:
    """If the document times more ops than the workload measures, record which share the workload measures."""
    given = found.parameters
    ops = {"matmul": 1, "stft": 2 if given.get("filter") else 1, "elementwise": given.get("ops")}
    measured = ops.get(found.workload)
    timed = timed_ops(example, found)
    if isinstance(measured, int) and timed > measured:
        found.part = f"{measured:,} of the {timed:,} ops"
        found.left_out.append(
            f"The document times {timed:,} ops together; this preset measures {measured:,} of them."
        )


def _without_parts(found: list[Found]) -> list[Found]:
    chained = [f.lines for f in found if f.workload == "pingpong"]
    return [f for f in found if f.workload != "matmul" or not any(f.lines <= lines for lines in chained)]


def _unmeasured_parts(example: Example) -> Iterator[Gap]:
    """Yield a gap for each op in a timed region that no workload measures, and for each call that could not
    be read.
    """
    # In a custom training loop, Keras calls are no gaps, because a workload measures the training as a whole.
    by_hand = trained_by_hand(example) is not None
    for region in example.regions:
        for event in example.trace.inside(region):
            if event.place.mapped:
                continue
            if event.kind == "opaque":
                yield Gap(event.line, f"the timed code is not recognized: {event.name[:120]}")
            elif event.kind == "op" and event.name.startswith("tf.keras."):
                if by_hand:
                    continue
                yield Gap(
                    event.line,
                    f"no workload measures a call of {event.name}; measure it as your own function",
                )
            elif event.kind == "op" and _is_gap(event.name):
                yield Gap(event.line, f"no workload measures {event.name}; measure it as your own function")


def _is_gap(name: str) -> bool:
    if name in _COVERED or "compress" in name or name.startswith(NEGLIGIBLE):
        return False
    return name.startswith("tf.") and not name.startswith(("tf.signal.", "tf.image.", "tf.GradientTape"))
