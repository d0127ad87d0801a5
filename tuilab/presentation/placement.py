"""Where the ops of a run ran: a row for each op, groups of rows, and their wording."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeVar, overload

from tuilab.model.events import XLA_PROGRAM, Node, copies_of, ops_of
from tuilab.model.quantity import plural
from tuilab.model.result import PlacementRow, placement_row
from tuilab.model.run import RunState

Key = TypeVar("Key")


@dataclass(frozen=True)
class Group:
    """Ops, copies or folded ops with the same device and reason."""

    kind: str
    """`op`, `copy` or `folded`."""
    device: str
    """The device; for copies, the source and the target; "" for folded ops if the device is unknown."""
    reason: str
    """Why the ops ran elsewhere; "" if they ran on the requested device."""
    count: int
    """Number of ops, including folded ones."""
    ops: tuple[str, ...] = ()
    elsewhere: bool = False
    """True if no op of the group ran on the requested device."""

    def __str__(self) -> str:
        """Return text such as `4,002 ops on CPU:0: no GPU is visible`."""
        program = self.ops == (XLA_PROGRAM,)
        one, more, joint = (XLA_PROGRAM, f"{XLA_PROGRAM}s", "on") if program else KINDS[self.kind]
        where = f"{joint} {self.device}" if self.device else "folded"
        text = f"{self.count:,} {one if self.count == 1 else more} {where}"
        return text + (f": {self.reason}" if self.reason else "")

    def has(self, row: PlacementRow) -> bool:
        return (row.kind, _where(row.kind, row.device, row.to), row.reason) == (
            self.kind,
            self.device,
            self.reason,
        )


@dataclass(frozen=True)
class LayerGroup:
    """The rows of one layer of a model, from all arms that name layers."""

    layer: str
    devices: tuple[tuple[str, int], ...]
    """The devices of the layer's ops, each with its number of ops, largest number first."""
    ops: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return text such as `encoder/attention: 40 ops on GPU:0, 2 ops on CPU:0`."""
        where = [f"{plural(count, 'op')} on {device}" for device, count in self.devices]
        return f"{self.layer}: " + ", ".join(where)

    def has(self, row: PlacementRow) -> bool:
        return row.layer == self.layer


def layers(state: RunState) -> list[LayerGroup]:
    """Return the layers of a model in graph order, with the devices of their ops; [] for other workloads."""
    where: dict[str, Counter[str]] = {}
    ops: dict[str, Counter[str]] = {}
    for (layer, device, kind), counts in _most_at_a_size(
        state, lambda node: (node.layer, node.device, node.kind)
    ).items():
        if layer and kind == "op":
            where.setdefault(layer, Counter())[device] += counts.total()
            ops.setdefault(layer, Counter()).update(counts)
    return [
        LayerGroup(layer, tuple(rows.most_common()), tuple(op for op, _ in ops[layer].most_common()))
        for layer, rows in where.items()
    ]


KINDS = {"op": ("op", "ops", "on"), "copy": ("copy", "copies", "from"), "folded": ("op", "ops", "folded on")}


def groups(state: RunState) -> list[Group]:
    """Group a run's rows by kind, device and reason.

    Ops that did not run on the requested device come first and folded ops last; larger groups come earlier.
    """
    # Count equal descriptions first: 100,000 nodes have only a few dozen different descriptions.
    alike = _most_at_a_size(
        state, lambda node: (node.kind, node.device, node.to, node.reason, node.elsewhere)
    )
    ops: dict[tuple[str, str, str], Counter[str]] = {}
    there = set[tuple[str, str, str]]()
    for (kind, device, to, reason, elsewhere), counts in alike.items():
        key = kind, _where(kind, device, to), reason
        ops.setdefault(key, Counter()).update(counts)
        if not elsewhere:
            there.add(key)
    grouped = [
        Group(*key, own.total(), tuple(op for op, _ in own.most_common()), key not in there)
        for key, own in ops.items()
    ]
    return sorted(grouped, key=lambda group: (group.kind == "folded", not group.elsewhere, -group.count))


def _most_at_a_size(state: RunState, key: Callable[[Node], Key]) -> dict[Key, Counter[str]]:
    """Return the number of ops of all arms by key.

    In a sweep, the result for a key is the number at the size where the key has the most ops: a function of
    43 ops that is measured at six sizes has 43 ops, not 258.
    """
    at: dict[tuple[Key, int], Counter[str]] = {}
    for arm in state.arms.values():
        for point, nodes in arm.placement.items():
            for node in nodes:
                at.setdefault((key(node), point), Counter())[node.op] += node.count
    most: dict[Key, Counter[str]] = {}
    for (group, _), counts in at.items():
        if group not in most or counts.total() > most[group].total():
            most[group] = counts
    return most


def _where(kind: str, device: str, to: str) -> str:
    if kind == "folded":
        return device
    return (f"{device} to {to}" if kind == "copy" else device) or "no device yet"


class PlacementRows(Sequence[PlacementRow]):
    """A row for each op, copy and folded group of the run.

    Rows are created on access, so 100,000 rows in any number of tables take no more memory than the run's
    state.
    """

    def __init__(self, state: RunState) -> None:
        found = [
            (arm, nodes, len(nodes), point)
            for arm, known in state.arms.items()
            for point, nodes in known.placement.items()
        ]
        self._parts = [(arm, nodes, count) for arm, nodes, count, _ in found]
        self._points = [point for *_, point in found]
        self._ends = list(accumulate(count for _, _, count in self._parts))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    @overload
    def __getitem__(self, place: int) -> PlacementRow: ...

    @overload
    def __getitem__(self, place: slice) -> list[PlacementRow]: ...

    def __getitem__(self, place: int | slice) -> PlacementRow | list[PlacementRow]:
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(len(self)))]
        at = range(len(self))[place]
        part = bisect_right(self._ends, at)
        arm, nodes, count = self._parts[part]
        return placement_row(arm, nodes[at - self._ends[part] + count])

    def counts(self) -> Counter[str]:
        """Count ops, copies and folded ops; in a sweep, at the size where their total is largest."""
        at: dict[int, Counter[str]] = {}
        for (_, nodes, count), point in zip(self._parts, self._points, strict=True):
            out = at.setdefault(point, Counter())
            out["folded"] += sum(node.count for node in nodes[:count] if node.kind == "folded")
            out["copy"] += sum(node.count for node in copies_of(nodes[:count]))
            out["op"] += sum(node.count for node in ops_of(nodes[:count]))
        return max(at.values(), key=Counter.total, default=Counter())

    def __str__(self) -> str:
        """Return the totals over all arms, such as `Placement of 2 arms: 48 ops, 2 copies, 76 folded`."""
        counts, words = self.counts(), {**KINDS, "folded": ("folded", "folded")}
        parts = [
            f"{counts[kind]:,} {one if counts[kind] == 1 else more}"
            for kind, (one, more, *_) in words.items()
            if counts[kind]
        ]
        many = len({arm for arm, *_ in self._parts})
        of = f" of {many} arms" if many > 1 else ""
        of += " at each size" if len(set(self._points)) > 1 else ""
        return f"Placement{of}: {', '.join(parts)}" if parts else "Placement"


def has_moved(row: PlacementRow) -> bool:
    return bool(row.requested) and row.kind == "op" and row.requested != row.device


def device_of(row: PlacementRow) -> str:
    """Return `GPU:0`, `CPU:0, not GPU:0` or `CPU:0 → GPU:0`."""
    if row.kind == "copy":
        return f"{row.device} → {row.to}"
    return f"{row.device}, not {row.requested}" if has_moved(row) else row.device


def about(row: PlacementRow) -> str:
    """Describe a row: its op, where the op ran if not on the requested device, where the output is, and
    why.
    """
    parts = [row.node]
    if has_moved(row):
        parts.append(f"requested {row.requested}, ran on {row.device}")
    if row.memory and row.memory != row.device:
        parts.append(f"output in the memory of {row.memory}")
    return ": ".join(part for part in (", ".join(parts), row.reason) if part)
