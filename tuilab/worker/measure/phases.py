"""Splits the time of one call into phases, from a short profile or from parts that are timed separately."""

import os
import statistics
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator, Sequence
from types import CodeType, FrameType
from typing import Any

import msgspec

from tuilab.analysis.account import Known, of_parts, of_profile, unknown
from tuilab.analysis.statistics import estimate
from tuilab.model.account import Account
from tuilab.model.arms import family
from tuilab.model.events import Accounted, Event, LayersKnown
from tuilab.model.ops import LOOPS
from tuilab.model.quantity import plural, seconds, size
from tuilab.model.scenario import BudgetName
from tuilab.profile.sums import PICO, Sums, sums
from tuilab.profile.threads import activity
from tuilab.profile.xplane import HOST, Recording, read
from tuilab.worker.build import empty_call
from tuilab.worker.measure.bench import Bench, TimedArm
from tuilab.worker.measure.layers import has_loops, layers_of
from tuilab.worker.measure.removal import with_savings
from tuilab.worker.measure.shallow import shallow
from tuilab.worker.measure.work import known, with_stays_timed
from tuilab.worker.profile.record import MOST, record
from tuilab.workloads.base import Case

SECONDS: dict[BudgetName, float] = {"quick": 0.05, "standard": 0.1, "publish": 0.2}
"""Seconds to profile an arm, unless one call takes longer."""
LONGEST_S = 3.0
"""Longest call to profile, in seconds. The profiler records an event every microsecond or two, so the profile
of a longer call could fill the memory.
"""
GRAPH_LONGEST_S, GRAPH_OPS = 15.0, 100_000
"""A profiled call may take `GRAPH_LONGEST_S` seconds if its graph is known to run at most `GRAPH_OPS` ops."""
LARGEST = 4_000_000
EVENTS, FEWEST_EVENTS, EAGER_EVENTS = 8_000, 20, 9
"""Approximate numbers of profiler events: the maximum for all profiled calls, the events of a call without
its ops, and the events of an op launched from Python.
"""
LAYERS_S, LAYERS_CALLS = 0.6, 11
"""Limits for the profiled calls of a model's graph, whose layers are told apart: seconds and number. Another
program may interrupt one of them.
"""
OWN_S, OWN_FEWEST, OWN_CALLS = 0.02, 5, 20
"""Limits for measuring the time in Python code: seconds, minimum and maximum number of calls."""
NOTEWORTHY = 0.02
"""Minimum share of a call's time in Python and dispatch for which the time in Python code is measured."""
LIBRARIES = (*{sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}, "<")
"""Folders of the standard library and installed modules, and the file-name prefix of code without a file."""


def measure_account(bench: Bench, cell: TimedArm) -> Iterator[Event]:
    """Yield the phases of the arm's calls, the seconds of ops that stay on the CPU, and the layers of a
    model's graph.

    Profiles a block of calls, and measures the time in Python code separately. If a call cannot be profiled,
    times its copies and an empty call, and reports the rest as unknown. Raises the errors of its calls.
    """
    begun = time.perf_counter()
    if cell.call_s > _longest_s(cell):
        account, found = (
            _apart(bench, cell, f"a call of {seconds(cell.call_s)} is too long to profile"),
            None,
        )
    else:
        account, found = _profiled(bench, cell)
    account = msgspec.structs.replace(account, cost_s=time.perf_counter() - begun)
    yield Accounted(run=bench.run, arm=cell.arm.id, point=cell.point, account=account)
    if found is not None and cell.work is not None and cell.work.stays:
        yield known(bench, cell.arm, cell.point, with_stays_timed(cell.work, found))
    if found is not None and cell.of_graph is not None:
        layers = layers_of(cell.of_graph, found, bench.workload.layers, _ops_share(bench, cell, account))
        layers = with_savings(bench, cell, account, layers)
        yield LayersKnown(run=bench.run, arm=cell.arm.id, point=cell.point, layers=layers)


def _ops_share(bench: Bench, cell: TimedArm, account: Account) -> float:
    """Return the share of the dispatch time that is spent on the ops: the time beyond that of an empty
    call.
    """
    dispatch = account.seconds("dispatch")
    if cell.of_graph is None or not dispatch or not has_loops(cell.of_graph):
        return 1.0
    with cell.case.scope():
        return max(0.0, 1.0 - statistics.median(_empty_calls(bench, cell)) / dispatch)


def _longest_s(cell: TimedArm) -> float:
    parts = cell.of_graph.parts if cell.of_graph is not None else ()
    endless = any(part.op in LOOPS for part in parts)  # the trip count of a loop is unknown
    few = not endless and 0 < sum(part.runs for part in parts) <= GRAPH_OPS
    return GRAPH_LONGEST_S if few else LONGEST_S


def _profiled(bench: Bench, cell: TimedArm) -> tuple[Account, Sums | None]:
    time_s = SECONDS["quick" if bench.request.sweep else bench.budget.name]
    if cell.of_graph is not None and bench.workload.info is not None and not bench.request.sweep:
        time_s = max(time_s, min(LAYERS_S, LAYERS_CALLS * cell.call_s))
    stopwatch = bench.stopwatch_of(cell)
    taken = record(bench.context.tf, cell.case, stopwatch, time_s, cell.call_s, _most_calls(cell))
    bench.check()
    if len(taken.data) > LARGEST:
        return _apart(bench, cell, f"the profile is too large to read ({size(len(taken.data))})"), None
    recording = read(taken.data)
    found = sums(activity(recording.lines))
    # A GPU's times come from its own clock and are not scaled, so take the call's total time from the rounds.
    timed_apart = family(cell.device) != "CPU" and cell.samples
    account = account_of(
        recording,
        found,
        statistics.median(cell.samples) if timed_apart else taken.measured_s,
        device=cell.device,
        drained=cell.case.drained,
        own_python=lambda: own_python(bench.context.tf, cell.case, stopwatch.sync),
    )
    return account, found


def _most_calls(cell: TimedArm) -> int:
    events = FEWEST_EVENTS + cell.ops * (EAGER_EVENTS if cell.arm.mode == "eager" else 2)
    return max(1, min(MOST, EVENTS // events))


def account_of(
    recording: Recording,
    found: Sums,
    plain_s: float,
    *,
    device: str,
    drained: bool,
    own_python: Callable[[], Sequence[float]] | None = None,
) -> Account:
    """Split the time of a recorded call into phases.

    plain_s: seconds of a call without the profiler. device: the device that was observed to compute.
    own_python: a function that measures the seconds that user code in Python takes in some calls.
    """
    if not found.calls or not any(found.phases.values()):
        return unknown(plain_s, "the profiler recorded no calls")
    opaque = family(device) != "CPU" and not any(
        line.device != HOST and line.events for line in recording.lines
    )
    calls = [{phase: spent * PICO for phase, spent in call.items()} for call in found.calls]
    host = sum(call.get(name, 0.0) for call in calls for name in ("python", "dispatch", "scheduling"))
    worth = own_python is not None and host > NOTEWORTHY * sum(sum(call.values()) for call in calls)
    account = of_profile(
        calls,
        plain_s,
        events=found.events / len(calls),
        on_device={phase: spent * PICO / len(calls) for phase, spent in found.on_device.items()},
        own_python_s=own_python() if worth and own_python is not None else (),
        opaque=opaque,
        drained=drained,
    )
    if not opaque:
        return account
    return msgspec.structs.replace(account, note="the profiler could not record the device")


def own_python(tf: Any, case: Case, sync: Callable[[], object]) -> list[float]:
    """Make several calls and return, for each, the seconds in Python code outside TensorFlow and Keras.

    Includes the time in other libraries that this code calls. Traces every Python function call, and stops
    the clock while the innermost running function belongs to TensorFlow or Keras.
    """
    clock = OwnClock(_folders(tf), _callback())
    calls, spent, begun = 0, [], time.perf_counter()
    with case.scope():
        while (took := time.perf_counter() - begun) < OWN_S or (
            calls < OWN_FEWEST and took < OWN_FEWEST * OWN_S
        ):
            if calls == OWN_CALLS:
                break
            spent.append(clock.time(case.call))
            sync()
            calls += 1
    return spent


def _callback() -> CodeType | None:
    """Return the code that calls the Python function of a `py_function`; None if TensorFlow has moved it."""
    script_ops = sys.modules.get("tensorflow.python.ops.script_ops")
    registry = getattr(script_ops, "FuncRegistry", type)
    return getattr(vars(registry).get("__call__"), "__code__", None)


def _folders(tf: Any) -> tuple[str, ...]:
    keras = sys.modules.get("keras")
    files = [getattr(module, "__file__", None) for module in (tf, keras)]
    return tuple(os.path.dirname(file) for file in files if file)


class OwnClock:
    """A clock that runs only while Python executes code outside `folders`.

    Time in a library outside these folders counts for the code that calls the library. While TensorFlow calls
    user code, the clock runs, except inside `callback`: a profile shows this time as an op's.
    """

    def __init__(self, folders: tuple[str, ...], callback: CodeType | None = None) -> None:
        self._folders = folders
        self._callback = callback
        self._calling = 0
        self._whose: dict[str, bool | None] = {}
        self._own: list[bool] = []
        self._spent = self._since = 0

    def time(self, call: Callable[[], object]) -> float:
        """Return the seconds that Python spends in code outside `folders` during one call."""
        before, self._own, self._spent, self._calling = sys.getprofile(), [True], 0, 0
        self._since = time.perf_counter_ns()
        sys.setprofile(self._seen)
        try:
            call()
        finally:
            sys.setprofile(before)
        if self._own[-1]:
            self._spent += time.perf_counter_ns() - self._since
        return self._spent * 1e-9

    def _seen(self, frame: FrameType, event: str, _: object) -> None:
        was = self._own[-1]
        if event == "call":
            if self._calling or frame.f_code is self._callback:
                self._calling += 1
            own = not self._calling and self._is_own(frame.f_code.co_filename)
            self._own.append(was if own is None else own)
        elif event == "return" and len(self._own) > 1:
            self._own.pop()
            self._calling = max(0, self._calling - 1)
        else:
            return
        if was and not self._own[-1]:
            self._spent += time.perf_counter_ns() - self._since
        elif self._own[-1] and not was:
            self._since = time.perf_counter_ns()

    def _is_own(self, file: str) -> bool | None:
        """Return True for user code, False for TensorFlow and Keras, and None for another library, whose time
        counts for its caller.
        """
        if file not in self._whose:
            theirs = file.startswith(self._folders)
            self._whose[file] = False if theirs else None if file.startswith(LIBRARIES) else True
        return self._whose[file]


def _apart(bench: Bench, cell: TimedArm, why: str) -> Account:
    """Return the phases that can be measured without a profile: the copies, and the launch of a call."""
    stopwatch, case, parts = bench.stopwatch_of(cell), cell.case, dict[str, Known]()
    with case.scope():
        if case.copy_in is not None:
            parts["copy_in"] = Known(stopwatch.time(case.copy_in), None, "timed apart")
        if case.copy_out is not None and case.compute is not None:
            given, copy_out = case.compute(), case.copy_out
            parts["copy_out"] = Known(stopwatch.time(lambda: copy_out(given)), None, "timed apart")
        found = estimate(_empty_calls(bench, cell))
    if found is not None:
        parts["dispatch"] = Known(found.median, found.half_width, "empty call")
        empty = plural(cell.ops, "empty op") if cell.arm.mode == "eager" else "an empty call"
        why += f"; dispatch measured with {empty}"
    return of_parts(parts, cell.call_s, why)


def _empty_calls(bench: Bench, cell: TimedArm) -> list[float]:
    """Return the seconds of nine calls that compute nothing. In eager mode, the call runs an empty op for
    each op of the arm.
    """
    tf, eager = bench.context.tf, cell.arm.mode == "eager"
    given = cell.case.arguments if all(tf.is_tensor(each) for each in cell.case.arguments) else ()
    call, often = empty_call(tf, cell.arm.mode, *(() if eager else given)), 50 if eager else 20
    call()
    times = max(1, cell.ops) if eager else 1
    return shallow(lambda: [times * bench.stopwatch.time(call, often) / often for _ in range(9)])
