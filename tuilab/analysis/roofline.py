"""Every figure against what its machine can do at most, and the least time on a GPU that is not here.

The model (Williams, Waterman and Patterson 2009, with the cost of starting a call): no call is shorter than
its arithmetic at the peak, nor than its bytes at the bandwidth of the memory that they fit into. A CPU
computes while the call runs, so starting the call comes on top. A GPU computes after the call returned, so of
starting and computing the longer counts; with copies, which wait, the way in and the way out come on top.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from tuilab.analysis.account import largest
from tuilab.analysis.reading import (
    account_at,
    axes,
    device_roofs,
    estimate_at,
    family_of,
    has_gpu,
    machine_of,
    measured,
    nodes_at,
    op_counts,
    roofs_of,
    summary_point,
    value_at,
    vanished,
)
from tuilab.analysis.words import listed, on_axis, size, times
from tuilab.model.account import Account
from tuilab.model.arms import Arm, Input, Mode, family
from tuilab.model.datasheets import SHEETS, USUAL, DataSheet, name_of, recognised
from tuilab.model.ops import HOST_DTYPES, NO_LAUNCH
from tuilab.model.quantity import median_of, rate, seconds, share_words, significant
from tuilab.model.quantity import size as byte_size
from tuilab.model.roofline import (
    ArmRoof,
    BoundBy,
    BoundPoint,
    DeviceRoofs,
    GpuBound,
    MemoryRoof,
    Roofs,
    SweepBound,
    Work,
    binding,
)
from tuilab.model.run import ArmState, RunState

COUNTED_AS = {"complex64": "float32", "complex128": "float64", "int32": "float32", "tf32": "float32"}
"""The dtype in whose units another one is computed, where that one has no roof of its own."""

LITTLE = 0.01
"""Of the time in which kernels run: a roof that explains less than that binds nothing."""


@dataclass(frozen=True)
class Floor:
    """The parts of the least time of a call, in seconds, and the whole."""

    arithmetic_s: float = 0.0
    memory_s: float = 0.0
    launches_s: float = 0.0
    copies_s: float = 0.0
    input_s: float = 0.0
    total_s: float = 0.0

    @property
    def work_s(self) -> float:
        """What the device needs for the work itself."""
        return max(self.arithmetic_s, self.memory_s)


def peak(roofs: DeviceRoofs, dtype: str) -> tuple[float, str] | None:
    """Return the FLOP/s at which the device computes `dtype` at most, and the dtype of that roof.

    One without a roof of its own is held against the highest.
    """
    for name in (dtype, COUNTED_AS.get(dtype, dtype)):
        if name in roofs.peaks:
            return roofs.peaks[name], name
    return max(((value, name) for name, value in roofs.peaks.items()), default=None)


def bandwidth(roofs: Sequence[MemoryRoof], working_set: float) -> float | None:
    """Return bytes/s at which so many bytes come and go at most; None for fewer than was ever measured.

    That of the largest set measured which is no larger; of larger ones, any that was faster all the same.
    """
    level = level_for(roofs, working_set)
    return level.bytes_per_s if level is not None else None


def level_for(roofs: Sequence[MemoryRoof], working_set: float) -> MemoryRoof | None:
    """Return the memory or cache whose bandwidth that is."""
    below = [index for index, level in enumerate(roofs) if level.working_set <= working_set]
    return max(roofs[below[-1] :], key=lambda level: level.bytes_per_s) if below else None


def level_name(roofs: Sequence[MemoryRoof], level: MemoryRoof) -> str:
    """Return `memory`, or `cache` with the size of the set that was gone through in it; the same in every
    view."""
    return "memory" if level is roofs[-1] else f"cache ({byte_size(level.working_set)})"


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
    """Return the least time of a call on a device whose roofs were measured. What is not known counts as
    nothing.

    ops: dispatched one by one in eager mode.
    """
    moved = work.bytes
    tops = [(flop, peak(roofs, dtype)) for dtype, flop in needed(work).items()]
    each = [flop / top[0] for flop, top in tops if top]
    # A processor computes everything with the same units; a GPU may have one for each dtype.
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
    there, back = _crossing(work, copied)
    link = roofs.link
    way_in = there / link.to_device if link and link.to_device else 0.0
    way_out = back / link.to_host if link and link.to_host else 0.0
    total = _least(launches, done, way_in, way_out, copied)
    return Floor(arithmetic, memory, launches, way_in + way_out, prepared, max(prepared, total))


def needed(work: Work) -> dict[str, float]:
    """Return the operations that a bound may count, by the dtype that they are computed in."""
    if work.by_dtype and work.least_flop is None:
        return work.by_dtype
    return {work.dtype: work.needed_flop} if work.needed_flop else {}


def _least(begun: float, done: float, way_in: float, way_out: float, copied: bool) -> float:
    """Of all that goes on together the longest; with copies, which wait, the way in and out come on top."""
    return max(begun, way_in + done) + way_out if copied else max(begun, done, way_in, way_out)


def _crossing(work: Work, copied: bool) -> tuple[float, float]:
    """Bytes that a call carries to the device and back."""
    there = work.to_device + ((work.inputs or 0.0) if copied else 0.0)
    return there, work.to_host + ((work.outputs or 0.0) if copied else 0.0)


def better(old: Roofs | None, new: Roofs) -> Roofs:
    """Return the best that either saw: a machine that was busy while it was measured can do no less for
    that."""
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


# What a run tells.


def work_of(state: RunState, arm: ArmState, point: int) -> Work | None:
    """Return what a call of the arm has to do at a point; where only another arm tells it, as that one
    does."""
    if point in arm.work:
        return arm.work[point]
    return next((a.work[point] for a in _like(state, arm.arm) if point in a.work), None)


def _like(state: RunState, arm: Arm) -> list[ArmState]:
    """Arms that do the same, those of the same mode first: a graph merges what eager does twice."""
    found = [a for a in state.arms.values() if (a.arm.dtype, a.arm.variant) == (arm.dtype, arm.variant)]
    return sorted(found, key=lambda a: a.arm.mode != arm.mode)


def op_count(arm: ArmState, point: int) -> int:
    """Return TensorFlow ops that a call runs, as observed; 1 where that was not observed."""
    return max(1, sum(op_counts(arm, point).values()))


def kernel_count(state: RunState, arm: Arm, point: int) -> int:
    """Return kernels that the arm launches on a GPU at least: those of its ops that compute there. One for
    XLA.

    As counted in the work, loops with their trips; else as observed for an arm of the same mode, dtype and
    variant, on whatever device that ran.
    """
    if arm.mode == "xla":
        return 1
    for other in _like(state, arm):
        if other.arm.mode != arm.mode:
            continue
        if (work := other.work.get(point)) is not None and work.kernels is not None:
            return max(1, round(work.kernels))
        if nodes := [node for node in nodes_at(other, point) if node.kind == "op"]:
            return max(1, sum(n.count for n in nodes if n.op not in NO_LAUNCH and n.dtype not in HOST_DTYPES))
    return 1


def _prepared(state: RunState, arm: ArmState, point: int, work: Work) -> Work:
    """The work with no more of the host's cost than the run itself shows.

    What an image costs is set by a calibration, which a busy machine lengthens. An arm that prepares images
    one after another needs no more for them than its fastest call took.
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
    """Return the least time of a call of the arm by the roofs of the device that computed: as measured, or
    these."""
    work, machine = work_of(state, arm, point), machine_of(state, arm)
    device = device or device_roofs(state, arm, point)
    if work is None or device is None or machine is None:
        return None
    return floor(
        _prepared(state, arm, point, work),
        device,
        arm.arm.mode,
        ops=op_count(arm, point),
        copied=arm.arm.input == "copied",
        cores=max(1, machine.cores),
        gpu=family_of(arm, point) == "GPU",
    )


@dataclass(frozen=True)
class Raised:
    """A device's roofs, no lower than what the run's own arms did. by: labels of those that were faster."""

    roofs: DeviceRoofs
    by: tuple[str, ...] = ()


def raised(state: RunState, arm: ArmState, point: int) -> Raised | None:
    """Return the roofs of the device that computed, raised where an arm of the run beat them; None without
    any.

    Roofs are measured within seconds, mostly beside other work, so they may lie too low; no arm is faster
    than its machine. An arm that does not compute what it was asked to raises none.
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
    """The roofs, or higher ones where the arm's own figure lies above them."""
    found, work = estimate_at(arm, point), work_of(state, arm, point)
    least = arm_floor(state, arm, point, device)
    if found is None or found.median <= 0 or work is None or least is None or work.host_only:
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
            # What came and went so fast was larger than the set that memory was measured with.
            own[-1:] = [MemoryRoof(own[-1].working_set, max(own[-1].bytes_per_s, reached.bytes_per_s))]
        else:
            own.append(reached)
        device = msgspec.structs.replace(device, memory=tuple(sorted(own, key=lambda m: m.working_set)))
    return device


def against_roof(state: RunState, arm: ArmState, point: int, device: Raised | None = None) -> ArmRoof | None:
    """Return the arm's figures against its device's roof; None where it has no figure or its work is not
    known.

    device: `raised` of the same arm, where that is known already.
    """
    found, work = estimate_at(arm, point), work_of(state, arm, point)
    if found is None or found.median <= 0 or work is None:
        return None
    device = device or raised(state, arm, point)
    least = arm_floor(state, arm, point, device.roofs) if device is not None else None
    gone = bool(vanished(state, arm, point))
    flop_s = work.flop / found.median if work.flop and not gone else None
    moved = work.bytes
    bytes_s = moved / found.median if moved and not gone else None
    share, above = None, False
    if least is not None and least.work_s > 0 and not gone:
        share = share_of_roof(least, found.median)
        # Its own roof was raised to what it did: a share of 1 says nothing about the machine.
        above = share is None or (share > 2 - ABOVE and device is not None and arm.label in device.by)
        share = None if above else share
    by = bound_by(account_at(arm, point), least)
    roof = _roof_words(state, arm, point, work, least, device)
    return ArmRoof(
        flop=work.flop,
        bytes=moved,
        flop_per_s=flop_s,
        bytes_per_s=bytes_s,
        roof=roof,
        bound_s=least.total_s if least is not None else None,
        share=share,
        bound_by=by,
        uncounted=work.uncounted,
        sentence=_arm_sentence(arm, work, flop_s, bytes_s, roof, share, by, above=above),
    )


def share_of_roof(least: Floor, seconds: float) -> float | None:
    """Return the share (0 … 1) of the roof that work of `seconds` reaches.

    None if it beats the roof, which was then measured too low to be a limit.
    """
    share = least.work_s / seconds if seconds > 0 else math.inf
    return share if share <= ABOVE else None


ABOVE = 1.0 + 1e-9
"""A share beyond is above the roof; rounding alone makes none."""


def bound_by(account: Account | None, least: Floor | None) -> BoundBy:
    """Return what takes most of a call; of computing, the roof that is nearer, where one is in sight."""
    found = largest(account) if account is not None else "not known"
    if account is None or found != "compute":
        return found
    if least is None or least.work_s < LITTLE * account.seconds("compute"):
        return "compute"
    return "arithmetic" if least.arithmetic_s >= least.memory_s else "memory"


def _roof_words(
    state: RunState, arm: ArmState, point: int, work: Work, least: Floor | None, device: Raised | None
) -> str:
    """`199 GFLOP/s float32`; and who reached that where it lies above what was measured of the machine."""
    measured_roofs = device_roofs(state, arm, point)
    if device is None or measured_roofs is None or least is None or least.work_s <= 0:
        return ""
    roofs = device.roofs
    if least.arithmetic_s >= least.memory_s:
        most = max(needed(work), key=lambda dtype: needed(work)[dtype] / (peak(roofs, dtype) or (1.0,))[0])
        top, before = peak(roofs, most), peak(measured_roofs, most)
        text = f"{rate(top[0], 'FLOP/s')} {top[1]}" if top else ""
        higher = top is not None and before is not None and top[0] > before[0]
    else:
        level = level_for(roofs.memory, work.bytes or 0.0)
        before_level = bandwidth(measured_roofs.memory, work.bytes or 0.0)
        text = f"{rate(level.bytes_per_s, 'B/s')} {level_name(roofs.memory, level)}" if level else ""
        higher = level is not None and before_level is not None and level.bytes_per_s > before_level
    if text and higher:
        return f"{text}, which {listed(device.by)} reached"
    known = roofs_of(state, arm)
    return f"{text}, measured on a busy machine" if text and known is not None and known.busy else text


def _arm_sentence(
    arm: ArmState,
    work: Work,
    flop_s: float | None,
    bytes_s: float | None,
    roof: str,
    share: float | None,
    by: BoundBy,
    *,
    above: bool,
) -> str:
    done = [rate(flop_s, "FLOP/s")] if flop_s else []
    done += [rate(bytes_s, "B/s")] if bytes_s else []
    text = f"{arm.label}: {', '.join(done) or 'work not known'}"
    if share is not None and roof:
        text += f", {'at least ' if work.uncounted and share >= 0.001 else ''}{share_words(share)} of {roof}"
    elif above and roof:
        text += f", above the roof as it was measured ({roof})"
    if work.uncounted:
        text += f" (not counted: {uncounted(work)})"
    return f"{text}; bound by {binding(by)}." if by != "not known" else f"{text}; what binds it is not known."


MOST_NAMED = 3


def uncounted(work: Work) -> str:
    """Name the ops whose arithmetic is in no count, `TopKV2, Svd and 2 more`; "" where all is counted."""
    names = list(work.uncounted)
    rest = len(names) - MOST_NAMED
    return listed([*names[:MOST_NAMED], f"{rest} more"] if rest > 0 else names) if names else ""


# A GPU that is not here.


@dataclass(frozen=True)
class GpuCall:
    """A call on a GPU that is not here, started by TensorFlow on this host, with what is known of it.

    host: the roofs of this host's processor; None where they are not known, and starting counts as nothing.
    slowed: those of a host that was never seen idle, where starting took longer than it needs to.
    least_s: of the same call here, where the host does the work whatever the device.
    """

    work: Work
    host: DeviceRoofs | None
    mode: Mode
    copied: bool = False
    ops: int = 1
    kernels: int = 1
    cores: int = 1
    least_s: float | None = None
    slowed: DeviceRoofs | None = None

    def started(self, sheet: DataSheet) -> bool:
        """Return whether the time to start ops is known on this host, or too short to matter on that GPU."""
        if self.host is not None or self.slowed is None:
            return self.host is not None
        return replace(self, host=self.slowed).on(sheet).seconds <= ALMOST * self.on(sheet).seconds

    def on(self, sheet: DataSheet) -> GpuBound:
        """Return its least time on the GPU of a data sheet; measured_s and what follows from it are left
        out."""
        unknown = []
        moved, arithmetic = self.work.bytes, 0.0
        if self.work.flop is None:
            unknown.append("the arithmetic")
        if self.work.uncounted:
            unknown.append(f"the arithmetic of {uncounted(self.work)}")
        for dtype, flop in needed(self.work).items():
            top = sheet.peak(dtype)
            if top is None:
                unknown.append(f"how fast it computes {dtype}")
            # Units for different dtypes may work side by side.
            arithmetic = max(arithmetic, flop / top.value if top else 0.0)
        if moved is None:
            unknown.append("the bytes it moves")
        # What the cache held at the end of the last call need not come from memory in this one.
        if moved and sheet.cache is None:
            unknown.append(f"the {sheet.name}'s cache, so its memory's bandwidth")
        kept = sheet.cache.value if sheet.cache else float("inf")
        memory = max(0.0, (moved or 0.0) - kept) / sheet.bandwidth.value
        launch = sheet.launch
        if launch is None:
            unknown.append(f"a launch's cost on {sheet.family}")
        launches = self.kernels * launch.value if launch else 0.0
        there, back = _crossing(self.work, self.copied)
        way_in, way_out = there / sheet.link.value, back / sheet.link.value
        starting = 0.0
        if self.host is None:
            unknown.append("TensorFlow's own dispatch on this host")
        else:
            empty = self.host.launch_s.get(self.mode, 0.0)
            if self.copied:
                empty = max(empty, self.host.copied_s.get(self.mode, 0.0))
            starting = empty * (max(1, self.ops) if self.mode == "eager" else 1)
        prepared = self.work.host_s / (self.cores if self.work.host_parallel else 1)
        done, begun = max(arithmetic, memory), max(starting, launches)
        total = _least(begun, done, way_in, way_out, self.copied)
        found = GpuBound(
            gpu=name_of(sheet),
            name=sheet.name,
            input="copied" if self.copied else "resident",
            mode=self.mode,
            seconds=max(prepared, total),
            arithmetic_s=arithmetic,
            memory_s=memory,
            launches_s=launches,
            kernels=self.kernels,
            copies_s=way_in + way_out,
            host_s=max(starting, prepared),
            host_does=PREPARING if prepared > starting else STARTING,
            unknown=tuple(unknown),
            fits=(moved or 0.0) <= sheet.memory.value,
        )
        if self.least_s is None:
            return found
        # The same call of the host's library: a GPU only adds its copies.
        whole = self.least_s + found.copies_s
        return msgspec.structs.replace(
            found, seconds=whole, host_s=self.least_s, host_does=HOSTS_OWN, unknown=()
        )


ALMOST = 1.05
"""A bound that is no more than this many times as long is the same for a reader."""
STARTING = "TensorFlow starting the call on this host"
PREPARING = "preparing the input on this host"
HOSTS_OWN = "the host's own work"


def gpu_arms(state: RunState, like: ArmState) -> list[Arm]:
    """Return the GPU arms that are worth a bound beside a CPU arm: those of the run, or its own on a GPU."""

    def alike(arm: Arm) -> bool:
        return (arm.dtype, arm.variant, arm.host) == (like.arm.dtype, like.arm.variant, like.arm.host)

    own = [a.arm for a in state.arms.values() if family(a.arm.device) == "GPU" and alike(a.arm)]
    if own:
        return own
    every = [a.arm for a in state.arms.values() if alike(a.arm)]
    copies = any(arm.arm.input == "copied" for arm in state.arms.values())
    inputs: tuple[Input, ...] = ("resident", "copied") if copies else ("resident",)
    return [msgspec.structs.replace(a, device="GPU:0", input=i) for a in every for i in inputs]


def _call(state: RunState, arm: Arm, point: int) -> GpuCall | None:
    """Null where the arm's work is not known."""
    work = work_of(state, state.arms.get(arm.id) or ArmState(arm, ""), point)
    machine = state.machines.get(arm.host, state.machine)
    if work is None or machine is None:
        return None
    here = next((a for a in _like(state, arm) if a.arm.mode == arm.mode and a.cells.get(point)), None)
    least = None
    if here is not None:
        work = _prepared(state, here, point, work)
        timed = estimate_at(here, point)
        if work.host_only and timed is not None and family_of(here, point) == "CPU":
            least = timed.interval[0] if timed.interval else timed.median
    roofs = state.roofs.get(machine.key)
    own = roofs.devices.get("CPU:0") if roofs else None
    busy = roofs is not None and roofs.busy
    return GpuCall(
        mode=arm.mode,
        copied=arm.input == "copied",
        work=work,
        host=None if busy else own,
        slowed=own if busy else None,
        ops=op_count(here, point) if here is not None else 1,
        kernels=kernel_count(state, arm, point),
        cores=max(1, machine.cores),
        least_s=least,
    )


def _calls(state: RunState, arms: Iterable[Arm], point: int) -> list[GpuCall]:
    found = [_call(state, arm, point) for arm in arms]
    return [call for call in found if call is not None]


def _best(calls: Iterable[GpuCall], sheet: DataSheet) -> dict[str, GpuBound]:
    """The least time by where the input lives."""
    best: dict[str, GpuBound] = {}
    for call in calls:
        found = call.on(sheet)
        if found.input not in best or found.seconds < best[found.input].seconds:
            best[found.input] = found
    return {name: best[name] for name in ("resident", "copied") if name in best}


def fastest_cpu(state: RunState, point: int) -> ArmState | None:
    """Return the fastest arm that a CPU computed at a point."""
    return next((arm for arm in measured(state, point) if family_of(arm, point) == "CPU"), None)


def bounds(state: RunState, point: int, sheet: DataSheet) -> tuple[GpuBound, ...]:
    """Return the least times beside the fastest CPU arm at a point: with the input resident, and with
    copies."""
    lead = fastest_cpu(state, point)
    calls = _calls(state, gpu_arms(state, lead), point) if lead is not None else []
    return tuple(_beside(state, lead, point, found) for found in _best(calls, sheet).values()) if lead else ()


SHORTEST_S = 1e-6
"""A bound below that says nothing: no call of TensorFlow begins and ends within a microsecond."""
MOST_TIMES = 1_000
"""Beyond so many times as fast a bound says nothing either: what is not counted weighs more."""


def _beside(state: RunState, lead: ArmState, point: int, found: GpuBound) -> GpuBound:
    """The bound held against a measured arm: it cannot win where it is no faster than the interval's end.

    Nothing is said of it where it is too short, or too far below what was measured, to mean anything.
    """
    timed = estimate_at(lead, point)
    if timed is None:
        return found
    nothing = "the arithmetic" in found.unknown and "the bytes it moves" in found.unknown
    found = msgspec.structs.replace(found, measured_s=timed.median)
    if found.seconds < SHORTEST_S or (nothing and not found.host_s):
        return found
    high = timed.interval[1] if timed.interval else timed.median
    if found.seconds >= high or not found.fits:
        return msgspec.structs.replace(found, at_most=timed.median / found.seconds, verdict="cannot win")
    most = timed.median / found.seconds
    return msgspec.structs.replace(found, at_most=most if most <= MOST_TIMES else None, verdict="could win")


def bound_sentence(state: RunState, against: str = "") -> str:
    """Say what a GPU could give at most, for the answer of a run without one; "" where it cannot be said."""
    point = summary_point(state)
    lead = fastest_cpu(state, point)
    if lead is None or (has_gpu(state) and not against):
        return ""
    sheet = SHEETS[against or USUAL]
    calls = _calls(state, gpu_arms(state, lead), point)
    if not against:
        if _never_idle(calls, sheet):
            return NEVER_IDLE
        calls = [call for call in calls if call.started(sheet)]
    known = _known(state, lead, point, calls, sheet)
    if not known:
        return ""
    every = [
        _beside(state, lead, point, found)
        for each in SHEETS.values()
        for found in _best(calls, each).values()
    ]
    least = min(every, key=lambda bound: bound.seconds)
    timed = estimate_at(lead, point)
    here = f"Measured here: {median_of(timed.median, timed.half_width)}." if timed else ""
    left = sorted({each for call in calls for each in call.work.uncounted})
    here += f" Not counted: {listed(left[:MOST_NAMED])}." if left else ""
    where = f"At {_place(state, point)} " if axes(state) else ""
    if all(bound.verdict == "cannot win" for bound in every):
        text = f"{where}a GPU cannot win{one_by_one(least)}: {none_of_them()} takes less than "
        text += f"{parts_words(least)}. {here}"
        return text if where else "A" + text[1:]
    if all(bound.verdict == "cannot win" for bound in known):
        own = min(known, key=lambda bound: bound.seconds)
        text = f"{where}{article(sheet)} cannot win{one_by_one(own)}: it takes {parts_words(own)} at least. "
        text += here
        return text[:1].upper() + text[1:]
    text = f"{where}{none_of_them()} can make this faster than {parts_words(least)}; "
    text += f"{article(sheet)} {_clauses(known)}. {here}"
    return text[:1].upper() + text[1:]


def bound_words(state: RunState) -> str:
    """Say in a few words what `bound_sentence` says of the usual GPU: `an H100: at most 19 ×`; else ""."""
    point = summary_point(state)
    lead = fastest_cpu(state, point)
    if lead is None or has_gpu(state):
        return ""
    sheet = SHEETS[USUAL]
    calls = [call for call in _calls(state, gpu_arms(state, lead), point) if call.started(sheet)]
    known = _known(state, lead, point, calls, sheet)
    if not known:
        return ""
    if all(bound.verdict == "cannot win" for bound in known):
        return f"{article(sheet)} cannot win"
    return f"{article(sheet)}: at most {times(max(bound.at_most or 0.0 for bound in known))}"


def _known(
    state: RunState, lead: ArmState, point: int, calls: Sequence[GpuCall], sheet: DataSheet
) -> list[GpuBound]:
    """The bounds of a GPU beside the fastest CPU arm, where there is one."""
    best = _best(calls, sheet).values()
    return [bound for bound in (_beside(state, lead, point, found) for found in best) if bound.at_most]


def _never_idle(calls: Sequence[GpuCall], sheet: DataSheet) -> bool:
    """Whether this host was too busy to tell how long starting any of these calls takes, which would matter.

    Without this host's own dispatch a bound of microseconds says nothing.
    """
    return any(call.slowed is not None for call in calls) and not any(call.started(sheet) for call in calls)


NEVER_IDLE = (
    "What a GPU could give at most is not known yet: this host was too busy to tell how long TensorFlow "
    "takes to start a call; a run while it is idle finds out."
)


def none_of_them() -> str:
    """Say whom a sentence about every GPU is about: those of the table."""
    return f"none of the {len(SHEETS)} NVIDIA cards known here"


def one_by_one(bound: GpuBound) -> str:
    """Say that a bound of launches is the plain graph's, or eager's; XLA and CUDA graphs launch fewer."""
    others = max(bound.host_s, bound.copies_s, bound.arithmetic_s, bound.memory_s)
    if bound.mode == "xla" or bound.launches_s <= others:
        return ""
    return " as a plain graph, without XLA or CUDA graphs" if bound.mode == "graph" else " op by op"


def _place(state: RunState, point: int) -> str:
    found = next((p for p in state.points if p.index == point), None)
    axis = axes(state)[0]
    value = value_at(state, found, axis) if found is not None else 0
    return on_axis(axis, size(value) if isinstance(value, int) else str(value))


def _clauses(known: Sequence[GpuBound]) -> str:
    """`could be at most 19 × faster with the input resident, at most 1.3 × with copies`."""
    places = {"resident": "with the input resident", "copied": "with copies"}
    said = ""
    alike = len({(bound.verdict, times(bound.at_most or 0.0)) for bound in known}) == 1
    for bound in known[:1] if alike else known:
        where = ""
        if len(known) > 1:
            where = ", with copies or without" if alike else f" {places[bound.input]}"
        if bound.verdict == "cannot win":
            said += f"{' and ' if said else ''}cannot win{where}"
        elif "could" in said:
            said += f", at most {times(bound.at_most or 0.0)}{where}"
        else:
            said += f"{' and ' if said else ''}could be at most {times(bound.at_most or 0.0)} faster{where}"
    return said


def parts_words(bound: GpuBound) -> str:
    """Return `31 µs (24 µs of it the bus)`."""
    kernels = f"{bound.kernels:,} kernels" if bound.kernels > 1 else "a kernel"
    parts = {
        bound.host_does: bound.host_s,
        "the bus": bound.copies_s,
        "arithmetic": bound.arithmetic_s,
        "memory": bound.memory_s,
        f"launching {kernels}": bound.launches_s,
    }
    name = max(parts, key=lambda key: parts[key])
    whole = seconds(bound.seconds)
    if not parts[name]:
        return whole
    part = seconds(min(parts[name], bound.seconds))
    return f"{whole} ({'all' if part == whole else part} of it {name})"


def article(sheet: DataSheet) -> str:
    """Return `an H100`, `a T4`."""
    return f"{'an' if sheet.name[0] in 'AHLR' else 'a'} {sheet.name}"


def least_bound(state: RunState, arms: Iterable[Arm], point: int) -> GpuBound | None:
    """Return the least time of any of these arms on any GPU that is known; None where no work is known."""
    calls = _calls(state, arms, point)
    found = [call.on(sheet) for call in calls for sheet in SHEETS.values()]
    return min(found, key=lambda bound: bound.seconds, default=None)


SLOWEST_LINK = 250e6
"""Bytes/s of one lane of the first PCI Express (PCI-SIG 2003); each GPU of the table has 60 times that."""
SLOWEST_COPY_S = 1e-3
"""Seconds that starting a copy takes at most; published for cudaMemcpy are 6 to 7 µs (GDRCopy's README)."""


SLACK = 1_000
"""How much slower than its data sheet a GPU is taken to be where a ceiling on its time is wanted."""
SLOWEST_LAUNCH_S = 1e-3
"""Seconds of a kernel's launch at most; published are 5 to 20 µs (Holistic Trace Analysis, its manual)."""


def ceiling(state: RunState, arm: Arm, point: int) -> float | None:
    """Return seconds that the arm takes at most on the slowest GPU of the table, a thousandth as fast as on
    paper.

    No bound of physics: a limit so generous that whoever breaks it has a GPU that is broken. None where the
    work is not known, or the host's own.
    """
    call = _call(state, arm, point)
    if call is None or call.host is None or call.work.host_only or call.work.flop is None:
        return None
    slowest = max((call.on(sheet) for sheet in SHEETS.values()), key=lambda b: b.arithmetic_s + b.copies_s)
    bandwidth_s = (call.work.bytes or 0.0) / min(sheet.bandwidth.value for sheet in SHEETS.values())
    work_s = SLACK * (slowest.arithmetic_s + bandwidth_s + slowest.copies_s)
    return (
        work_s + max(call.kernels, call.ops) * SLOWEST_LAUNCH_S + SLACK * call.host.launch_s.get("eager", 0.0)
    )


def copies_at_most(state: RunState, arm: ArmState, point: int) -> float | None:
    """Return seconds that the copies of a call of the host's library take at most; None for other work."""
    work = work_of(state, arm, point)
    if work is None or not work.host_only or not work.to_host:
        return None
    # What zlib writes is no larger than what it reads, but for a few bytes in a thousand.
    return 2.01 * work.to_host / SLOWEST_LINK + 2 * SLOWEST_COPY_S


def sweep_bound(state: RunState, sheet: DataSheet, *, asked: bool = True) -> SweepBound | None:
    """Return a GPU at best along a sweep's first axis; None without a sweep, or where no work is known.

    asked: the person named that GPU; else None if this host was too busy to tell at any of the sizes, since
    `bound_sentence` then says that nothing is known yet.
    """
    names = axes(state)
    if len(names) != 1:
        return None
    rows: list[BoundPoint] = []
    least: int | None = None
    beyond = False
    for point in state.points:
        value = value_at(state, point, names[0])
        if not isinstance(value, int) or isinstance(value, bool):
            continue
        lead = fastest_cpu(state, point.index)
        calls = _calls(state, gpu_arms(state, lead), point.index) if lead is not None else []
        if not asked and _never_idle(calls, sheet):
            return None
        found = {bound.input: bound for bound in bounds(state, point.index, sheet)}
        if not found or all(bound.at_most is None for bound in found.values()):
            continue
        times_s = {name: bound.seconds for name, bound in found.items()}
        rows.append(
            BoundPoint(value=value, resident_s=times_s.get("resident"), copied_s=times_s.get("copied"))
        )
        if any(bound.verdict == "could win" for bound in found.values()):
            least, beyond = (value if least is None else min(least, value)), True
    if not rows:
        return None
    rows.sort(key=lambda row: row.value)
    if not beyond or least is None:
        turns = (
            f"overtakes at none of the sizes measured, {on_axis(names[0], f'up to {size(rows[-1].value)}')}"
        )
    elif least == rows[0].value:
        turns = "could already be faster at the smallest size"
    else:
        turns = f"could overtake from {on_axis(names[0], size(least))} at the earliest"
    text = f"{article(sheet)} {turns}, by its data sheet and what starting a call costs here."
    return SweepBound(
        gpu=name_of(sheet),
        name=sheet.name,
        axis=names[0],
        points=tuple(rows),
        overtakes_from=least,
        sentence=text[:1].upper() + text[1:],
    )


def sweep_sentence(state: RunState, against: str = "") -> str:
    """Say from which size a GPU could win, for the answer of a sweep that has ended and has none; else ""."""
    if state.running or (has_gpu(state) and not against):
        return ""
    found = sweep_bound(state, SHEETS[against or USUAL], asked=bool(against))
    return found.sentence if found is not None else ""


def against(state: RunState, asked: str = "") -> str:
    """Return the table's name of the GPU that a run is held against: as asked, else its own, else the
    usual one."""
    if asked:
        return asked
    machine = state.machine
    own = [recognised(gpu.description) for gpu in machine.gpus] if machine is not None else []
    return next((name for name in own if name), "" if own else USUAL)


# Before anything is measured.


def expectation(work: Work, roofs: Roofs | None) -> str:
    """Say in a sentence what a call's work is, and which roof will bind it on this host's processor."""
    amounts = [rate(work.flop, "FLOP")] if work.flop else []
    moved = work.bytes
    amounts += [f"{byte_size(moved)} to move"] if moved else []
    what = f"One call is {' and '.join(amounts)}" if amounts else "How much work a call does is not known"
    if work.note and work.flop:
        what += f" ({work.note})"
    if work.host_only:
        return f"{what}; the host does it whatever the device."
    device = roofs.devices.get("CPU:0") if roofs is not None else None
    if device is None:
        each = work.flop / moved if work.flop and moved else None
        return f"{what}, {significant(each, 2)} operations a byte." if each else f"{what}."
    found = floor(work, device, "graph")
    parts: dict[str, float] = {
        "arithmetic": found.arithmetic_s,
        "memory": found.memory_s,
        "starting the call": found.launches_s,
        "preparing its input": found.input_s,
    }
    name = max(parts, key=lambda key: parts[key])
    if not parts[name]:
        return f"{what}."
    text = f"{what}: on this host's processor {name} will bind it, {seconds(parts[name])} at least"
    done = found.work_s
    if name == "starting the call" and done:
        text += f" where the work itself needs {seconds(done)}"
    return text + "."
