"""Creates the timings of a document."""

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import Literal

from tuilab.documents.example import Example
from tuilab.documents.facts import may_run
from tuilab.documents.interpreter.trace import Region, TraceEvent
from tuilab.documents.interpreter.values import Known, integer
from tuilab.documents.judge.first_call import first_call, main_work, means_first_call
from tuilab.documents.judge.purpose import (
    COMPARED,
    DEVICES,
    compares,
    counterpart,
    is_about_speed,
    is_log,
    label,
    may_log,
    trains,
)
from tuilab.documents.judge.waits import unfinished
from tuilab.documents.timing import Timing


def decide(examples: Sequence[Example]) -> None:
    """Set the timings of all examples of a document. The regions must have their titles already."""
    of_document: dict[Region, Timing] = {}
    for example in examples:
        shown = {region for region in example.clocked if _is_shown(example, region)}
        first_meant = min((r.first for r in shown if means_first_call(label(r))), default=inf)
        for region in example.clocked:
            timing = _timing(example, region, region in shown)
            if region in shown:
                numbered = first_meant < region.first
                timing = replace(timing, cold=first_call(example, timing, numbered))
            of_document[region] = timing
        example.timings = tuple(of_document[region] for region in example.clocked if region in shown)
        example.timing_of = of_document


def _timing(example: Example, region: Region, shown: bool) -> Timing:
    events = example.trace.inside(region)
    about_speed = is_about_speed(example, region)
    logs = may_log(example, region, events)
    peer = counterpart(example, region) if logs else None
    if region.via == "magic" and not region.repeats:
        logs = not about_speed
    else:
        logs = logs and is_log(example, region, events, about_speed, peer is not None)
    return Timing(
        region=region,
        events=events,
        begins=example.trace.events[region.first].place,
        label=label(region),
        role="progress" if not shown else "log" if logs else "benchmark",
        extent=_extent(example, region),
        trains=trains(events),
        about_speed=about_speed,
        compared=compares(example, region, events, about_speed),
        counterpart=peer,
        device=_device(region, events),
        work=main_work(events),
        unfinished=unfinished(example, events),
        repetitions=_repetitions(example, region, events),
        unresolved=tuple(event for event in events if may_run(event)),
    )


def _is_shown(example: Example, region: Region) -> bool:
    """Return True if the code shows the measured time, rather than only using it to control a loop."""
    shown = region.told or region.gathered or region.beside or not region.paces
    return bool(shown) and not region.discarded and example.trace.events[region.first].place.traced is None


def _extent(example: Example, region: Region) -> Literal["calls", "lap", "total"]:
    if _holds_others(example, region):
        return "total"
    events = example.trace.events
    # A lap starts before a loop and ends inside the loop, so it includes earlier iterations.
    is_lap = len(events[region.last].place.loops) > len(events[region.first].place.loops)
    return "lap" if is_lap else "calls"


def _holds_others(example: Example, region: Region) -> bool:
    if example.facts.first_end_after(region.first) > region.last:
        return False
    trace = example.trace
    begins = trace.events[region.first].place
    if not begins.branches:
        return True
    # Count only timings that may run within this one; timings on other branches may not.
    return any(
        region.first < r.first and r.last <= region.last and trace.events[r.first].place.may_follow(begins)
        for r in trace.regions
    )


def _device(region: Region, events: list[TraceEvent]) -> str:
    found = {e.place.families[0] for e in events if e.kind in COMPARED and len(e.place.families) == 1}
    if not found:
        found = {word.upper() for word in DEVICES.findall(region.name)}
    return found.pop() if len(found) == 1 else ""


def _repetitions(example: Example, region: Region, events: list[TraceEvent]) -> int | None:
    outside = len(example.trace.events[region.first].place.loops)
    counts: set[int | None] = set()
    for event in events:
        if event.kind in ("op", "graph", "train") and event.place.traced is None:
            repeats = event.place.repeats_inside(outside)
            epochs = integer(event.arguments.get("epochs", Known(1))) if event.kind == "train" else 1
            counts.add(None if repeats is None or epochs is None else repeats * epochs)
    return counts.pop() if len(counts) == 1 else None
