"""Estimates the minimum and the expected time of a call on a GPU that is not present.

The bound is computed from the data sheet, the counted work and measurements of this host. A graph's kernels
run one after another, each limited by its arithmetic, its memory traffic or its launch. XLA may fuse kernels,
so an XLA program counts as one kernel per loop iteration, with the program's total arithmetic and bytes. Ops
without a GPU kernel stay on the CPU at their measured time, and the data they exchange with the GPU crosses
the bus. TensorFlow's launch cost is measured on this host.

A bound is not a forecast: `expected_s` scales each term by the efficiency that published timings reached
(`EXPECTED` in model/datasheets.py, docs/gpu-bounds.md).
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

import msgspec

from tuilab.analysis.reading import (
    NUMPY_INSIDE,
    account_at,
    axes,
    estimate_at,
    family_of,
    measured,
    op_counts,
    value_at,
)
from tuilab.analysis.roofline import (
    crossing,
    kernel_count,
    like,
    needed,
    op_count,
    overlapped,
    prepared,
    work_of,
)
from tuilab.analysis.words import listed
from tuilab.model.account import Account
from tuilab.model.arms import MODES, Arm, Input, Mode, family
from tuilab.model.datasheets import EXPECTED, SHEETS, DataSheet, name_of
from tuilab.model.ops import HOST_ONLY, ITERATIVE
from tuilab.model.roofline import BoundPoint, DeviceRoofs, GpuBound, Limit, SweepBound, Work
from tuilab.model.run import ArmState, RunState

ALMOST = 1.05
"""A bound of at most this multiple of a measured time counts as equal to that time."""
START_MATTERS_S = 10e-3
"""In bounds longer than this (in seconds), TensorFlow's launch cost is negligible. It is hundreds of µs on a
slow host.
"""


@dataclass(frozen=True)
class GpuCall:
    """A call that TensorFlow on this host would launch on a GPU that is not present.

    host: the roofs (measured limits) of this host's processor; if None, they are unknown, and launching
    counts as zero. slowed: roofs measured while the host was busy, so that their launch cost is too high; in
    that case, `host` is None. kernels: launches per call. least_s: minimum seconds of the same call on this
    host, for work that runs on the host even if there is a GPU. dispatch_s: the Python and dispatch time of
    the same call on this host's CPU; 0 if unknown. python_s: minimum seconds of an eager call's own Python
    and NumPy code on this host; None if such code exists, but its time is unknown. unfused: launches per call
    if XLA fuses nothing. unpredictable: op types whose time does not follow from the work and the launches.
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
    dispatch_s: float = 0.0
    python_s: float | None = 0.0
    unfused: int = 1
    unpredictable: tuple[str, ...] = ()

    @property
    def on_gpu(self) -> Work:
        return self.work.gpu or self.work

    def start_known(self, sheet: DataSheet) -> bool:
        """Return True if the launch cost is known, or too small to matter on that GPU."""
        if self.host is not None:
            return True
        fastest = self.on(sheet).seconds
        if self.slowed is None:
            return fastest >= START_MATTERS_S
        return replace(self, host=self.slowed).on(sheet).seconds <= ALMOST * fastest

    def on(self, sheet: DataSheet) -> GpuBound:
        """Return the bound on the data sheet's GPU, without comparing it with a measured arm."""
        work, unknown = self.on_gpu, list[str]()
        if work.flop is None:
            unknown.append("the arithmetic")
        if work.bytes is None:
            unknown.append("the bytes it moves")
        if work.bytes and sheet.cache is None:
            unknown.append(f"the {sheet.name}'s cache size, so its memory bandwidth cannot be applied")
        unknown += [f"its {dtype} throughput" for dtype in needed(work) if sheet.peak(dtype) is None]
        if self.host is None:
            unknown.append("TensorFlow's dispatch overhead on this host")
        arithmetic, memory, kernels = self._kernels(work, sheet)
        launch = sheet.launch.value
        launches = self.kernels * launch
        there, back = crossing(work, self.copied)
        way_in, way_out = there / sheet.link.value, back / sheet.link.value
        crossed = sum(stay.to_host + stay.to_device for stay in self.work.stays) / sheet.link.value
        stays = sum(stay.seconds or 0.0 for stay in self.work.stays)
        begun = self._starting()
        starting = max(begun, self.python_s or 0.0)
        fed = self.work.host_s / (self.cores if self.work.host_parallel else 1)

        on_gpu = overlapped(max(starting, launches), kernels, way_in, way_out, self.copied)
        terms: dict[Limit, float] = {
            "arithmetic": arithmetic,
            "memory bandwidth": memory,
            "launches": launches,
            "copies": way_in + way_out + crossed,
            "starting the call": begun,
            "the call's own Python code": self.python_s or 0.0,
            "the ops that stay on the CPU": stays,
            "preparing the input": fed,
        }
        found = GpuBound(
            gpu=name_of(sheet),
            name=sheet.name,
            input="copied" if self.copied else "resident",
            mode=self.mode,
            seconds=max(fed, on_gpu, stays + crossed),
            arithmetic_s=arithmetic,
            memory_s=memory,
            kernels_s=kernels,
            launches_s=launches,
            kernels=self.kernels,
            copies_s=way_in + way_out + crossed,
            host_s=max(starting, fed),
            stays_s=stays,
            stays=self.work.stays,
            limited_by=max(terms, key=lambda name: terms[name]),
            expected_s=self._expected(sheet, kernels, (there, back), stays, fed)
            if not self.unpredictable
            else None,
            unknown=tuple(unknown),
            fits=(work.bytes or 0.0) <= sheet.memory.value,
        )
        if self.least_s is None:
            return found
        # The host does the work here, so a GPU only adds copies. A pipeline may overlap its copies with
        # preparing the next batch.
        whole = self.least_s + (0.0 if self.work.host_feeds else found.copies_s)
        return msgspec.structs.replace(
            found,
            seconds=whole,
            host_s=self.least_s,
            limited_by="the host's own work",
            expected_s=(whole, self.least_s + self._expected(sheet, 0.0, (there, back), 0.0, 0.0)[1]),
            unknown=(),
        )

    def _expected(
        self, sheet: DataSheet, kernels_s: float, crosses: tuple[float, float], stays_s: float, fed_s: float
    ) -> tuple[float, float]:
        """Return the expected seconds of a call.

        In the best case, the parts overlap as in the bound; in the worst case, they run one after another.
        crosses: bytes to and from the device.
        """
        work, ends = self.on_gpu, list[float]()
        # In a call that only copies, each launch starts a copy.
        only_copies = not work.flop and (work.to_device or work.to_host)
        ways = [size for size in crosses if size]
        stayed = sum(stay.to_host + stay.to_device for stay in self.work.stays)
        for end in (0, 1):
            slow = end == 1
            starting = max(EXPECTED.start[end] * self._starting(), EXPECTED.dispatch[end] * self.dispatch_s)
            starting = max(starting, self.python_s or 0.0)
            often = self.kernels if self.mode != "xla" else self.unfused if slow else 1
            launching = often * EXPECTED.launch_s[end] + work.serial * EXPECTED.iteration_s[end]

            def crossing_s(size: float, end: int = end, slow: bool = slow) -> float:
                rate = EXPECTED.link[end] / sheet.link.value
                return size * max(rate, 1 / EXPECTED.pageable) if slow else size * rate

            copies = (self.kernels if only_copies else len(ways)) * EXPECTED.copy_s[end]
            there, back = (crossing_s(size) for size in crosses)
            computing = EXPECTED.kernels[end] * kernels_s
            if slow:
                on_gpu = starting + launching + computing + copies + there + back
                ends.append(fed_s + on_gpu + stays_s + crossing_s(stayed))
            else:
                begun = max(starting, launching)
                on_gpu = overlapped(begun, computing, copies + there, back, self.copied)
                ends.append(max(fed_s, on_gpu, stays_s + crossing_s(stayed)))
        return ends[0], ends[1]

    def _kernels(self, work: Work, sheet: DataSheet) -> tuple[float, float, float]:
        """Return the minimum seconds of arithmetic, of memory access, and of all kernels in sequence."""
        # Data that is already in the cache is not read from memory again.
        kept = sheet.cache.value if sheet.cache else float("inf")
        launch = sheet.launch.value

        def computing(dtype: str, flop: float) -> float:
            top = sheet.peak(dtype)
            return flop / top.value if top else 0.0

        def moving(size: float) -> float:
            return max(0.0, size - kept) / sheet.bandwidth.value

        if work.each and self.mode != "xla":
            rows = [(k.runs, computing(k.dtype, k.flop), moving(k.bytes)) for k in work.each]
            return (
                sum(runs * took for runs, took, _ in rows),
                sum(runs * took for runs, _, took in rows),
                sum(runs * max(launch, a, m) for runs, a, m in rows),
            )
        # For fused kernels, or work counted as a whole, the units for different dtypes may work in parallel.
        arithmetic = max((computing(dtype, flop) for dtype, flop in needed(work).items()), default=0.0)
        memory = moving(work.bytes or 0.0)
        trips = max(1.0, work.serial) * launch if work.kernels else 0.0
        return arithmetic, memory, max(arithmetic, memory, trips)

    def _starting(self) -> float:
        """Return the seconds that this host takes to launch the call."""
        if self.host is None:
            return 0.0
        empty = self.host.launch_s.get(self.mode, 0.0)
        if self.copied:
            empty = max(empty, self.host.copied_s.get(self.mode, 0.0))
        return empty * (max(1, self.ops) if self.mode == "eager" else 1)


def gpu_arms(state: RunState, of: ArmState) -> list[Arm]:
    """Return the GPU arms to compare with a CPU arm.

    These are the run's GPU arms with the same dtype, variant and host, or else the run's CPU arms, moved to a
    GPU.
    """

    def alike(arm: Arm) -> bool:
        return (arm.dtype, arm.variant, arm.host) == (of.arm.dtype, of.arm.variant, of.arm.host)

    own = [a.arm for a in state.arms.values() if family(a.arm.device) == "GPU" and alike(a.arm)]
    if own:
        return own
    every = [a.arm for a in state.arms.values() if alike(a.arm)]
    copies = any(arm.arm.input == "copied" for arm in state.arms.values())
    inputs: tuple[Input, ...] = ("resident", "copied") if copies else ("resident",)
    return [msgspec.structs.replace(a, device="GPU:0", input=i) for a in every for i in inputs]


def call_of(state: RunState, arm: Arm, point: int) -> GpuCall | None:
    """Return the arm's call on a GPU.

    Returns None if the call's work is unknown, and for a graph or XLA arm that this host could not run:
    TensorFlow may be unable to trace or compile it.
    """
    work = work_of(state, state.arms.get(arm.id) or ArmState(arm, ""), point)
    machine = state.machines.get(arm.host, state.machine)
    if work is None or machine is None:
        return None
    here = next((a for a in like(state, arm) if a.arm.mode == arm.mode and a.cells.get(point)), None)
    tried = [a for a in like(state, arm) if a.arm.mode == arm.mode and family(a.arm.device) == "CPU"]
    if arm.mode != "eager" and here is None and any(a.status in ("failed", "unavailable") for a in tried):
        return None
    floor_s = None
    if here is not None:
        work = prepared(state, point, work)
        timed = estimate_at(here, point)
        if work.on_host and timed is not None and family_of(here, point) == "CPU":
            floor_s = timed.interval[0] if timed.interval else timed.median
    seen = {op for other in like(state, arm) for op in op_counts(other, point)}
    on_cpu = next((a for a in tried if a.cells.get(point)), None)
    known = account_at(on_cpu, point) if on_cpu is not None else None
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
        least_s=floor_s,
        unfused=max(kernel_count(state, msgspec.structs.replace(arm, mode=mode), point) for mode in MODES),
        unpredictable=tuple(sorted(seen & (ITERATIVE | HOST_ONLY) - {stay.op for stay in work.stays})),
        dispatch_s=known.seconds("python", "dispatch") if known else 0.0,
        python_s=_python_s(on_cpu, known) if arm.mode == "eager" else 0.0,
    )


def _python_s(arm: ArmState | None, known: Account | None) -> float | None:
    least_s = known.least_share("python") * known.total_s if known is not None else 0.0
    in_numpy = arm is not None and any(flag.code == NUMPY_INSIDE for flag in arm.flags)
    return None if in_numpy and not least_s else least_s


def calls_of(state: RunState, arms: Iterable[Arm], point: int) -> list[GpuCall]:
    found = [call_of(state, arm, point) for arm in arms]
    return [call for call in found if call is not None]


def fastest_cpu(state: RunState, point: int) -> ArmState | None:
    return next(iter(leads(state, point)), None)


def leads(state: RunState, point: int) -> list[ArmState]:
    """Return the fastest CPU arm of each variant, dtype and host. The overall fastest comes first."""
    found: dict[tuple[str, str, str], ArmState] = {}
    for arm in measured(state, point):
        if family_of(arm, point) == "CPU":
            found.setdefault((arm.arm.variant, arm.arm.dtype, arm.arm.host), arm)
    return list(found.values())


def bounds(state: RunState, point: int, sheet: DataSheet) -> tuple[GpuBound, ...]:
    """Return the bounds for each of the `leads`, fastest arm first, with resident and with copied input."""
    return tuple(bound for lead in leads(state, point) for bound in bounds_of_arm(state, lead, point, sheet))


def bounds_of_arm(state: RunState, lead: ArmState, point: int, sheet: DataSheet) -> list[GpuBound]:
    """Return the bounds for one measured arm: first with resident, then with copied input."""
    best: dict[str, tuple[GpuBound, GpuCall]] = {}
    likely: dict[str, tuple[float, float]] = {}
    for call in calls_of(state, gpu_arms(state, lead), point):
        found = call.on(sheet)
        if found.expected_s is not None:  # keep the shortest expected times of any mode
            known = likely.get(found.input, found.expected_s)
            likely[found.input] = min(known[0], found.expected_s[0]), min(known[1], found.expected_s[1])
        if found.input not in best or found.seconds < best[found.input][0].seconds:
            best[found.input] = found, call
    return [
        _compared(lead, point, msgspec.structs.replace(found, expected_s=likely.get(name)), call, sheet)
        for name, (found, call) in sorted(best.items(), reverse=True)  # resident before copied
    ]


def _compared(lead: ArmState, point: int, found: GpuBound, call: GpuCall, sheet: DataSheet) -> GpuBound:
    """Compare a bound with a measured arm. If the bound is not below the arm's interval, the GPU cannot
    win.
    """
    found = msgspec.structs.replace(found, variant=lead.arm.variant, dtype=lead.arm.dtype)
    timed = estimate_at(lead, point)
    if timed is None:
        return found
    found = msgspec.structs.replace(found, measured_s=timed.median)
    if stuck := nothing_for_a_gpu(call.work):
        return msgspec.structs.replace(
            found,
            seconds=max(found.seconds, timed.median),
            limited_by="the ops that stay on the CPU",
            at_most=1.0,
            expected_s=None,
            verdict="cannot win",
            why=stuck,
        )
    if why := why_not_known(call):
        return msgspec.structs.replace(found, expected_s=None, why=why)
    known = call.start_known(sheet)
    if not known and call.slowed is None:
        return msgspec.structs.replace(
            found, expected_s=None, why="TensorFlow's dispatch overhead has not been measured here yet"
        )
    slowest = found.seconds if known else replace(call, host=call.slowed).on(sheet).seconds
    high = timed.interval[1] if timed.interval else timed.median
    wins = found.seconds < high and found.fits and call.least_s is None
    expected_s = found.expected_s if known else None
    if (
        call.least_s is not None and expected_s is not None
    ):  # a GPU only adds copies, however noisy the arm was
        expected_s = max(expected_s[0], timed.median), max(expected_s[1], timed.median)
    return msgspec.structs.replace(
        found,
        at_most=high / found.seconds,
        expected=(timed.median / expected_s[1], timed.median / expected_s[0]) if expected_s else None,
        expected_s=expected_s,
        busy=None if known else (high / slowest, high / found.seconds),
        verdict="could win" if wins else "cannot win",
        why=_why(found, call, sheet),
    )


def _why(found: GpuBound, call: GpuCall, sheet: DataSheet) -> str:
    if not found.fits:
        return f"a call does not fit into its {sheet.memory.value / 1e9:.0f} GB"
    if steps := [op for op in call.unpredictable if op in ITERATIVE]:
        text = f"a GPU computes {listed(steps)} in many small steps"
        if found.expected_s is None:
            return f"{text}, so the likely time is unknown"
        how = "with XLA" if call.mode == "xla" else "as a graph" if call.mode == "graph" else "in eager mode"
        return f"{how}, {text}, in an unknown time"  # another mode gives the likely time
    return ""


def nothing_for_a_gpu(work: Work) -> str:
    """Return why a call contains no work for a GPU; "" if it contains some."""
    if work.gpu is None or work.gpu.kernels or work.gpu.flop:
        return ""
    names = sorted(work.stays, key=lambda stay: -(stay.seconds or 0.0))
    ops = listed([stay.op for stay in names[:3]])
    return f"the ops of a call ({ops}) run on the CPU, without a GPU kernel"


def why_not_known(call: GpuCall) -> str:
    work = call.on_gpu
    if work.uncounted:
        return f"the work of {work.uncounted[0]} is not counted"
    if call.python_s is None:
        return "the time of the call's own Python and NumPy code is not known precisely enough"
    untimed = [stay.op for stay in call.work.stays if stay.seconds is None]
    if untimed:
        return f"{untimed[0]} stays on the CPU, and its time was not measured"
    if work.flop is None and work.bytes is None and not work.host_s and not work.on_host:
        return "the amount of work per call is unknown"
    return ""


def least_bound(state: RunState, arms: Iterable[Arm], point: int) -> GpuBound | None:
    """Return the shortest bound of these arms on any known GPU; None if no work is known.

    Counts float32 products at the rate of TF32, because TensorFlow uses TF32 by default and a document's code
    may use TF32.
    """
    calls = [replace(call, work=_in_tf32(call.work)) for call in calls_of(state, arms, point)]
    found = [call.on(sheet) for call in calls for sheet in SHEETS.values()]
    return min(found, key=lambda bound: bound.seconds, default=None)


def _in_tf32(work: Work) -> Work:
    """Return the work with all float32 arithmetic at the rate of TF32 products, which is at least as high."""

    def faster(dtype: str) -> str:
        return "tf32" if dtype in ("float32", "complex64") else dtype

    by_dtype: dict[str, float] = defaultdict(float)
    for dtype, flop in work.by_dtype.items():
        by_dtype[faster(dtype)] += flop
    return msgspec.structs.replace(
        work,
        dtype=faster(work.dtype),
        by_dtype=dict(by_dtype),
        each=tuple(msgspec.structs.replace(kernel, dtype=faster(kernel.dtype)) for kernel in work.each),
        gpu=_in_tf32(work.gpu) if work.gpu is not None else None,
    )


SLOWEST_LINK = 250e6
"""Bandwidth in bytes/s of one lane of first-generation PCI Express (PCI-SIG 2003). Each GPU in the table has
a link at least 60 times as fast.
"""
SLOWEST_COPY_S = 1e-3
"""Maximum seconds to start a copy. Published figures for cudaMemcpy are 6 to 7 µs (GDRCopy's README)."""
SLACK = 1_000
"""For an upper limit on a call's time, a GPU is assumed to be this many times slower than its data sheet."""
SLOWEST_LAUNCH_S = 1e-3
"""Maximum seconds of a kernel launch. Published figures are 5 to 20 µs (manual of Holistic Trace
Analysis).
"""


def ceiling(state: RunState, arm: Arm, point: int) -> float | None:
    """Return an upper limit in seconds for the arm's call on any working GPU.

    Assumes the slowest GPU of the table at a thousandth of its rated speed. Returns None if the work is
    unknown or runs on the host.
    """
    call = call_of(state, arm, point)
    if call is None or call.host is None or call.work.on_host or call.work.flop is None:
        return None
    slowest = max((call.on(sheet) for sheet in SHEETS.values()), key=lambda b: b.arithmetic_s + b.copies_s)
    bandwidth_s = (call.work.bytes or 0.0) / min(sheet.bandwidth.value for sheet in SHEETS.values())
    work_s = SLACK * (slowest.arithmetic_s + bandwidth_s + slowest.copies_s + slowest.stays_s)
    return (
        work_s + max(call.kernels, call.ops) * SLOWEST_LAUNCH_S + SLACK * call.host.launch_s.get("eager", 0.0)
    )


def copies_at_most(state: RunState, arm: ArmState, point: int) -> float | None:
    """Return an upper limit in seconds for the copies of a host library's call; None for other work."""
    work = work_of(state, arm, point)
    if work is None or not work.host_only or not work.to_host:
        return None
    # zlib's output exceeds its input by at most a few bytes per thousand.
    return 2.01 * work.to_host / SLOWEST_LINK + 2 * SLOWEST_COPY_S


def along(state: RunState, sheet: DataSheet) -> SweepBound | None:
    """Return a GPU's bounds along the axis of a sweep, without a sentence.

    Returns None if the run does not sweep exactly one axis, if no bound is known, or if the host was busy at
    some size.
    """
    names = axes(state)
    if len(names) != 1:
        return None
    rows: list[BoundPoint] = []
    wins: list[int] = []
    for point in state.points:
        value, lead = value_at(state, point, names[0]), fastest_cpu(state, point.index)
        if not isinstance(value, int) or isinstance(value, bool) or lead is None:
            continue
        found = {bound.input: bound for bound in bounds_of_arm(state, lead, point.index, sheet)}
        known = {name: bound for name, bound in found.items() if bound.verdict != "not known"}
        if any(bound.busy for bound in known.values()):
            return None  # at this size, the host was too busy to compare the GPU with the CPU
        if not known:
            continue
        times_s = {name: bound.seconds for name, bound in known.items()}
        rows.append(
            BoundPoint(value=value, resident_s=times_s.get("resident"), copied_s=times_s.get("copied"))
        )
        if any(bound.verdict == "could win" for bound in known.values()):
            wins.append(value)
    if not rows:
        return None
    return SweepBound(
        gpu=name_of(sheet),
        name=sheet.name,
        axis=names[0],
        points=tuple(sorted(rows, key=lambda row: row.value)),
        overtakes_from=min(wins, default=None),
        sentence="",
    )
