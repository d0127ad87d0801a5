"""Summarizes placement rows into the devices, ops and copies observed for an arm."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from tuilab.model.arms import family
from tuilab.model.events import XLA_PROGRAM, Node, copies_of
from tuilab.model.explain import ForecastRow
from tuilab.worker.placement.rows import Row

NAMES = 20


@dataclass(frozen=True)
class Observation:
    """The observations of one call of an arm.

    nodes: rows of the log, with equal rows merged and counted. device: the requested device if any work was
    observed there, else the device with most of the work; None if no TensorFlow op ran. ops: number of ops
    per call, as dispatched or in the optimized graphs, excluding ops inside XLA programs and tf.data. folded:
    number of ops that the graph optimizer removed. copies, copied: number and bytes of copies between devices
    per call. reason: why the requested device did not compute; "" if it did, or if no op ran. forecast: for
    each op, whether a GPU would run the op with this build. arithmetic: estimated number of operations in the
    call's XLA programs; None if there is no program or one cannot be estimated.
    """

    nodes: tuple[Node, ...]
    device: str | None
    ops: int = 0
    folded: int = 0
    copies: int = 0
    copied: int = 0
    reason: str = ""
    forecast: tuple[ForecastRow, ...] = ()
    arithmetic: float | None = None


def summarise(rows: Sequence[Row], requested: str) -> Observation:
    nodes = merged([row.node for row in rows])
    device = _computing(rows, requested)
    copies = copies_of(nodes)
    programs = [row.arithmetic for row in rows if row.node.op == XLA_PROGRAM]
    told = [work for work in programs if work is not None]
    return Observation(
        nodes=nodes,
        device=device,
        ops=sum(row.node.count for row in rows if row.runs),
        folded=sum(n.count for n in nodes if n.kind == "folded"),
        copies=sum(n.count for n in copies),
        copied=sum(n.bytes for n in copies),
        reason="" if device in (None, requested) else _why_not(rows, requested),
        forecast=predicted(rows),
        arithmetic=sum(told) if told and len(told) == len(programs) else None,
    )


def merged(nodes: Sequence[Node]) -> tuple[Node, ...]:
    out: dict[tuple[object, ...], Node] = {}
    for node in nodes:
        key = tuple(getattr(node, f) for f in node.__struct_fields__ if f not in ("count", "bytes"))
        first = out.get(key)
        if first is not None:
            count, size = first.count + node.count, first.bytes + node.bytes
            node = msgspec.structs.replace(first, count=count, bytes=size)
        out[key] = node
    return tuple(out.values())


def _computing(rows: Sequence[Row], requested: str) -> str | None:
    ran = [row for row in rows if row.node.kind == "op" and not row.pipeline]
    working = [row for row in ran if row.works] or ran
    if not working:
        return None
    tally: dict[str, int] = {}
    for row in working:
        where = row.node.memory or row.node.device
        tally[where] = tally.get(where, 0) + row.node.count
    return requested if requested in tally else max(tally, key=lambda device: tally[device])


def _why_not(rows: Sequence[Row], requested: str) -> str:
    """Return the reason of the first op that did not run on the requested device although it should have."""
    working = [row.node for row in rows if row.works and row.node.reason]
    for node in working:
        if node.requested == requested != node.device:
            return f"{node.op}: {node.reason}"
    elsewhere = next((n for n in working if family(n.memory or n.device) != family(requested)), None)
    return f"{elsewhere.op}: {elsewhere.reason}" if elsewhere else f"no code requests {requested}"


def predicted(rows: Sequence[Row]) -> tuple[ForecastRow, ...]:
    return merge_forecasts(
        [
            ForecastRow(
                op=op,
                dtype=row.node.dtype,
                gpu=row.would.gpu,
                code=row.would.reason.code,
                reason=row.would.reason.text,
                evidence=row.would.reason.evidence,
                names=(row.node.name,),
                count=row.node.count,
                at_most=row.at_most,
            )
            for row in rows
            if row.would is not None
            for op in row.instead or (row.node.op,)
        ]
    )


def merge_forecasts(rows: Sequence[ForecastRow]) -> tuple[ForecastRow, ...]:
    return _joined(rows, lambda a, b: a + b)


def united(arms: Sequence[Sequence[ForecastRow]]) -> tuple[ForecastRow, ...]:
    return _joined([row for rows in arms for row in rows], max)


def _joined(rows: Sequence[ForecastRow], count: Callable[[int, int], int]) -> tuple[ForecastRow, ...]:
    out: dict[tuple[object, ...], ForecastRow] = {}
    for row in rows:
        key = row.op, row.dtype, row.gpu, row.code
        known = out.get(key)
        if known is not None:
            names = tuple(dict.fromkeys((*known.names, *row.names)))[:NAMES]
            row = msgspec.structs.replace(
                known,
                names=names,
                count=count(known.count, row.count),
                at_most=known.at_most or row.at_most,
            )
        out[key] = row
    return tuple(sorted(out.values(), key=lambda row: row.gpu))
