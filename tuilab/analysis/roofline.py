"""Compares each measured time with the minimum that its machine's limits ("roofs") allow.

The model (Williams, Waterman and Patterson 2009, plus launch cost): no call is shorter than the time for its
arithmetic at the peak rate, or for its bytes at the bandwidth of the smallest memory level that holds them. A
CPU computes during the call, so the launch cost is added. A GPU computes after the call returns, so the
longer of launching and computing counts; blocking copies in and out are added.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from tuilab.analysis.account import largest
from tuilab.analysis.reading import (
    account_at,
    device_roofs,
    estimate_at,
    family_of,
    machine_of,
    nodes_at,
    op_total,
    vanished,
)
from tuilab.model.account import Account
from tuilab.model.arms import Arm
from tuilab.model.ops import HOST_DTYPES, NO_LAUNCH
from tuilab.model.roofline import (
    BoundBy,
    DeviceRoofs,
    MemoryRoof,
    Roofs,
    Work,
)
from tuilab.model.run import ArmState, RunState

COUNTED_AS = {"complex64": "float32", "complex128": "float64", "int32": "float32", "tf32": "float32"}
"""For each dtype without its own roof, the dtype whose arithmetic units compute it."""

LITTLE = 0.1
"""Minimum share of the kernel time that a roof must explain to count as the limit of the call."""


@dataclass(frozen=True)
class Floor:
    """The minimum seconds of a call, in total and for each part."""

    arithmetic_s: float
    memory_s: float
    launches_s: float
    copies_s: float
    input_s: float
    total_s: float

    @property
    def work_s(self) -> float:
        return max(self.arithmetic_s, self.memory_s)


def peak(roofs: DeviceRoofs, dtype: str) -> tuple[float, str] | None:
    """Return the device's maximum FLOP/s for `dtype`, and the dtype of the roof that was used.

    For a dtype without a roof of its own, this is the highest roof.
    """
    for name in (dtype, COUNTED_AS.get(dtype, dtype)):
        if name in roofs.peaks:
            return roofs.peaks[name], name
    return max(((value, name) for name, value in roofs.peaks.items()), default=None)


def bandwidth(roofs: Sequence[MemoryRoof], working_set: float) -> float | None:
    """Return the maximum bytes/s for a working set of this size; None if every measured set is larger.

    Uses the largest measured set up to this size, or a larger set if its bandwidth is higher.
    """
    level = level_for(roofs, working_set)
    return level.bytes_per_s if level is not None else None


def level_for(roofs: Sequence[MemoryRoof], working_set: float) -> MemoryRoof | None:
    """Return the memory level (main memory or a cache) whose bandwidth limits this working set, if known."""
    below = [index for index, level in enumerate(roofs) if level.working_set <= working_set]
    return max(roofs[below[-1] :], key=lambda level: level.bytes_per_s) if below else None


def floor(
    work: Work,
    roofs: DeviceRoofs,
    mode: str,
    *,
    ops: int = 1,
    copied: bool = False,
    cores: int = 1,
    gpu: bool = False,
) -> Floor:
    """Return the minimum time of a call on a device with measured roofs. Unknown parts count as zero.

    ops: number of ops that eager mode dispatches one by one.
    """
    moved = work.bytes
    tops = [(flop, peak(roofs, dtype)) for dtype, flop in needed(work).items()]
    each = [flop / top[0] for flop, top in tops if top]
    # A CPU computes all dtypes with the same units; a GPU may have separate units for each.
    arithmetic = max(each, default=0.0) if gpu else sum(each)
    rate = bandwidth(roofs.memory, moved) if moved else None
    memory = moved / rate if moved and rate else 0.0
    launch = (roofs.copied_s if copied else roofs.launch_s).get(mode, 0.0)
    launch = min(launch, roofs.launch_s.get(mode, launch))
    launches = launch * (max(1, ops) if mode == "eager" else 1)
    prepared = work.host_s / (cores if work.host_parallel else 1)
    done = max(arithmetic, memory)
    if not gpu:
        return Floor(arithmetic, memory, launches, 0.0, prepared, max(prepared, done + launches))
    there, back = crossing(work, copied)
    link = roofs.link
    way_in = there / link.to_device if link and link.to_device else 0.0
    way_out = back / link.to_host if link and link.to_host else 0.0
    total = overlapped(launches, done, way_in, way_out, copied)
    return Floor(arithmetic, memory, launches, way_in + way_out, prepared, max(prepared, total))


def needed(work: Work) -> dict[str, float]:
    """Return the minimum number of operations for each dtype whose arithmetic units compute them."""
    if work.by_dtype and work.least_flop is None:
        return work.by_dtype
    return {work.dtype: work.needed_flop} if work.needed_flop else {}


def overlapped(begun: float, done: float, way_in: float, way_out: float, copied: bool) -> float:
    return max(begun, way_in + done) + way_out if copied else max(begun, done, way_in, way_out)


def crossing(work: Work, copied: bool) -> tuple[float, float]:
    """Return the bytes that a call transfers to the device and back."""
    there = work.to_device + ((work.inputs or 0.0) if copied else 0.0)
    return there, work.to_host + ((work.outputs or 0.0) if copied else 0.0)


def better(old: Roofs | None, new: Roofs) -> Roofs:
    """Return the better of two measurements of each roof: other load can only make a machine seem slower."""
    if old is None or old.machine != new.machine:
        return new
    devices = {
        name: _better(old.devices[name], found) if name in old.devices else found
        for name, found in new.devices.items()
    }
    devices = {**old.devices, **devices}
    return msgspec.structs.replace(
        new,
        devices=devices,
        sync_s=min(old.sync_s, new.sync_s),
        others=min(old.others, new.others),
        least=min((least for least in (old.least, new.least) if least is not None), default=None),
    )


def with_starts(roofs: Roofs, seen: DeviceRoofs) -> Roofs:
    """Return the roofs, with the run's own times of an empty CPU call in place of longer stored times."""
    if (own := roofs.devices.get("CPU:0")) is None:
        return roofs
    shorter = msgspec.structs.replace(
        own,
        launch_s={**seen.launch_s, **_each(seen.launch_s, own.launch_s, min)},
        copied_s={**seen.copied_s, **_each(seen.copied_s, own.copied_s, min)},
    )
    return msgspec.structs.replace(roofs, devices={**roofs.devices, "CPU:0": shorter})


def _better(old: DeviceRoofs, new: DeviceRoofs) -> DeviceRoofs:
    levels = {level.working_set: level.bytes_per_s for level in old.memory}
    link = new.link
    if link is not None and old.link is not None:
        link = msgspec.structs.replace(
            link,
            latency_s=min(link.latency_s, old.link.latency_s),
            to_device=max(link.to_device or 0, old.link.to_device or 0) or None,
            to_host=max(link.to_host or 0, old.link.to_host or 0) or None,
        )
    return DeviceRoofs(
        memory=tuple(
            MemoryRoof(level.working_set, max(level.bytes_per_s, levels.get(level.working_set, 0.0)))
            for level in new.memory
        ),
        triad=max(old.triad, new.triad),
        peaks=_each(old.peaks, new.peaks, max),
        launch_s=_each(old.launch_s, new.launch_s, min),
        copied_s=_each(old.copied_s, new.copied_s, min),
        link=link,
    )


def _each(
    old: Mapping[str, float], new: Mapping[str, float], choose: Callable[[float, float], float]
) -> dict[str, float]:
    return {key: choose(old.get(key, value), value) for key, value in new.items()}


# Facts about an arm from a run's state.


def work_of(state: RunState, arm: ArmState, point: int) -> Work | None:
    if point in arm.work:
        return arm.work[point]
    return next((a.work[point] for a in like(state, arm.arm) if point in a.work), None)


def like(state: RunState, arm: Arm) -> list[ArmState]:
    """Return the arms that do the same work as this arm.

    Arms of the same mode come first, because eager mode repeats ops that a graph merges.
    """
    found = [a for a in state.arms.values() if (a.arm.dtype, a.arm.variant) == (arm.dtype, arm.variant)]
    return sorted(found, key=lambda a: a.arm.mode != arm.mode)


def op_count(arm: ArmState, point: int) -> int:
    """Return the number of TensorFlow ops that a call was observed to run; 1 if not observed."""
    return max(1, op_total(arm, point))


def kernel_count(state: RunState, arm: Arm, point: int) -> int:
    """Return the minimum number of kernels that the arm launches on a GPU; 1 for XLA.

    Uses the counted work, including loop iterations, or else the number observed for an arm of the same mode,
    dtype and variant.
    """
    if arm.mode == "xla":
        return 1
    for other in like(state, arm):
        if other.arm.mode != arm.mode:
            continue
        if (work := other.work.get(point)) is not None and work.kernels is not None:
            return max(1, round((work.gpu or work).kernels or 0))
        if nodes := [node for node in nodes_at(other, point) if node.kind == "op"]:
            return max(1, sum(n.count for n in nodes if n.op not in NO_LAUNCH and n.dtype not in HOST_DTYPES))
    return 1


def prepared(state: RunState, point: int, work: Work) -> Work:
    """Return the work, with the host's time lowered if the run's own calls took less.

    The cost per image comes from a calibration, which a busy machine lengthens. An arm that prepares images
    one after another cannot need more time for them than its fastest call took.
    """
    if not work.host_s:
        return work
    most = work.host_s
    for other in state.arms.values():
        known, cell = other.work.get(point), other.cells.get(point)
        if known is None or cell is None or known.host_s != work.host_s or not cell.samples:
            continue
        machine = machine_of(state, other)
        most = min(most, cell.fastest * (machine.cores if known.host_parallel and machine else 1))
    return msgspec.structs.replace(work, host_s=most)


def arm_floor(state: RunState, arm: ArmState, point: int, device: DeviceRoofs | None = None) -> Floor | None:
    """Return the minimum time of the arm's call, from the given roofs or else from its device's measured
    roofs.
    """
    work, machine = work_of(state, arm, point), machine_of(state, arm)
    device = device or device_roofs(state, arm, point)
    if work is None or device is None or machine is None:
        return None
    return floor(
        prepared(state, point, work),
        device,
        arm.arm.mode,
        ops=op_count(arm, point),
        copied=arm.arm.input == "copied",
        cores=max(1, machine.cores),
        gpu=family_of(arm, point) == "GPU",
    )


@dataclass(frozen=True)
class Raised:
    """A device's roofs, raised to the rates of arms that exceeded the measured roofs. by: the labels of these
    arms.
    """

    roofs: DeviceRoofs
    by: tuple[str, ...] = ()


def raised(state: RunState, arm: ArmState, point: int) -> Raised | None:
    """Return the roofs of the arm's device, raised to the rates of arms that exceeded them; None if unknown.

    Roofs are measured within seconds and often on a busy machine, so they may be too low. An arm that exceeds
    a roof proves that the roof is too low, because no arm can exceed the true limit of its machine. Ignores
    arms that do not compute what was requested.
    """
    device, place = device_roofs(state, arm, point), _place_of(state, arm, point)
    if device is None:
        return None
    by: dict[str, None] = {}
    for other in state.arms.values():
        for index in other.cells:
            if _place_of(state, other, index) != place or vanished(state, other, index):
                continue
            higher = _raise(state, other, index, device)
            if higher is not device:
                device = higher
                by[other.label] = None
    return Raised(device, tuple(by))


def _place_of(state: RunState, arm: ArmState, point: int) -> tuple[str, str]:
    machine = machine_of(state, arm)
    name = arm.arm.device if family_of(arm, point) == "GPU" else "CPU:0"
    return machine.key if machine is not None else "", name


def _raise(state: RunState, arm: ArmState, point: int, device: DeviceRoofs) -> DeviceRoofs:
    found, work = estimate_at(arm, point), work_of(state, arm, point)
    least = arm_floor(state, arm, point, device)
    if found is None or found.median <= 0 or work is None or least is None or work.on_host:
        return device
    if least.arithmetic_s > found.median:
        tops = {top[1] for dtype in needed(work) if (top := peak(device, dtype))}
        factor = least.arithmetic_s / found.median
        peaks = {name: value * (factor if name in tops else 1) for name, value in device.peaks.items()}
        device = msgspec.structs.replace(device, peaks=peaks)
    if least.memory_s > found.median and work.bytes:
        reached = MemoryRoof(int(work.bytes), work.bytes / found.median)
        own = [level for level in device.memory if level.working_set != reached.working_set]
        above = [level for level in own if level.working_set > reached.working_set]
        if not above:
            # The arm moved its data faster than the bandwidth of the largest measured working set allows, so
            # raise that bandwidth.
            own[-1:] = [MemoryRoof(own[-1].working_set, max(own[-1].bytes_per_s, reached.bytes_per_s))]
        else:
            own.append(reached)
        device = msgspec.structs.replace(device, memory=tuple(sorted(own, key=lambda m: m.working_set)))
    return device


@dataclass(frozen=True)
class Reach:
    """An arm's rates, and the share (0 to 1) of the roof that they reach. share: None if unknown or above 1.

    above: True if the rates exceed the measured roof.
    """

    work: Work
    flop_per_s: float | None
    bytes_per_s: float | None
    least: Floor | None
    device: Raised | None
    share: float | None
    above: bool
    by: BoundBy


def reach(state: RunState, arm: ArmState, point: int, device: Raised | None = None) -> Reach | None:
    """Return the share of the device's roof that the arm reaches; None without a figure or known work.

    device: the result of `raised()` for the same arm, if already computed.
    """
    found, work = estimate_at(arm, point), work_of(state, arm, point)
    if found is None or found.median <= 0 or work is None:
        return None
    device = device or raised(state, arm, point)
    least = arm_floor(state, arm, point, device.roofs) if device is not None else None
    counted = _by_convention(work, least) if least is not None else None
    gone = bool(vanished(state, arm, point))
    share, above = None, False
    if least is not None and counted is not None and least.work_s > 0 and not gone:
        share = share_of_roof(least, found.median)
        # The arm's own figure raised this roof, so its share of 1 says nothing about the machine.
        above = share is None or (share > 2 - ABOVE and device is not None and arm.label in device.by)
        share = None if above else share_of_roof(counted, found.median)
    return Reach(
        work=work,
        flop_per_s=work.flop / found.median if work.flop and not gone else None,
        bytes_per_s=work.bytes / found.median if work.bytes and not gone else None,
        least=least,
        device=device,
        share=share,
        above=above,
        by=bound_by(account_at(arm, point), counted),
    )


def _by_convention(work: Work, least: Floor) -> Floor:
    """Return the floor with all operations that a rate counts, not only those that the best known algorithm
    needs.
    """
    if not work.flop or not work.needed_flop:
        return least
    return replace(least, arithmetic_s=least.arithmetic_s * work.flop / work.needed_flop)


def share_of_roof(least: Floor, seconds: float) -> float | None:
    """Return the share (0 to 1) of the roof that a call of `seconds` reaches.

    Returns None above 1, because the measured roof is then too low to be a limit.
    """
    share = least.work_s / seconds if seconds > 0 else math.inf
    return share if share <= ABOVE else None


ABOVE = 1.0 + 1e-9
"""A share above this counts as exceeding the roof; the margin allows for rounding errors."""


def bound_by(account: Account | None, least: Floor | None) -> BoundBy:
    """Return what limits a call: the group of its largest phase, or the nearer roof if that phase is
    computing.
    """
    found = largest(account) if account is not None else "not known"
    if account is None or found != "compute":
        return found
    return nearer_roof(least, account.seconds("compute"))


def nearer_roof(least: Floor | None, computing_s: float) -> BoundBy:
    """Return the roof with the longer minimum time; `compute` if the roofs explain almost none of the
    computing time.
    """
    if least is None or least.work_s < LITTLE * computing_s:
        return "compute"
    return "arithmetic" if least.arithmetic_s >= least.memory_s else "memory"
