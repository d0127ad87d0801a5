"""Samples the main thread's Python stack to determine how the thread spent each second."""

from __future__ import annotations

import os
import re

from .own import Flag, Own
from .places import is_own

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Any

    Row = tuple[str, tuple[tuple[str, int], ...], str, str]
    """A row of the account: the kind of work, the user's lines (outermost first), the library's entry point,
    and the user function that calls the entry point.
    """

PAUSE_S, LONGEST_PAUSE_S = 0.05, 0.5
GOLDEN = 0.6180339887
"""Golden ratio, which spreads the sampling pauses evenly within ±50% of their mean. With equal pauses,
samples could stay in step with a loop of the same period and always see the same line.
"""
SHARE = 0.005
"""Maximum share of one processor's time that sampling may use."""
MOST_ROWS, MOST_LINES, MOST_CODES = 2_000, 24, 50_000
EDGE = MOST_LINES // 2
ENDING = "unknown", (), "", "ending"
CATCHING = "unknown", (), "", "saving the step for a trial"
RECENT_S = 1.0
"""In seconds. An older sample does not show where unsampled time was spent."""
SOON_S = 0.002
"""In seconds. If a sample is delayed by less than this, no other Python thread is running, because a running
thread would hold the interpreter lock for 5 ms.
"""
PROMPT_S = 0.000101
"""In seconds; no program sets exactly this. The interpreter's switch interval while the sampling thread
waits, if no other Python thread runs. With the usual 5 ms, a sample would never fall into Python code that
releases the interpreter lock sooner.
"""
QUIET_S = 1.0
"""In seconds. How long no other Python thread must have run, so that none is slowed by more switches."""
SETTLE_S = 0.0002
"""In seconds. A thread that only waits for the interpreter lock runs within this time after its release."""

PYTHON, READING, INPUT, GRAPHS, LIBRARY, TRAINER = range(6)
TRACING, BUILDING, SAVING, ADAPTING, IMPORTING, CAPTURING = range(10, 16)
"""Kinds of work. The outermost frame of one of these kinds determines the kind of everything that it calls,
including user code.
"""
SCOPES = {
    TRACING: "tracing",
    BUILDING: "building",
    SAVING: "saving",
    ADAPTING: "input",
    IMPORTING: "importing",
    CAPTURING: "unknown",
}
INNER = {READING: "reading", INPUT: "input", GRAPHS: "graphs"}
_CAPTURE = __file__.replace("account.py", "capture.py")
MAKERS = frozenset(("__init__", "__new__", "Input", "compile", "add"))
"""Names of Keras functions that create models or parts of models."""

DIRECT = "__", "numpy"
"""Endings of the names of timed library functions that user code calls directly, such as `__call__` and
`numpy`.
"""
TRAINING = frozenset(("Model.fit", "Model.predict", "Model.evaluate", "Model.train_on_batch"))

_LIBRARY = re.compile(r"/(tensorflow/python|tensorflow/lite|keras|tf_keras|keras_core)/")
_TRACES = re.compile(r"^(trace_function|func_graph_from_py_func|_maybe_define_function|_initialize)$")
_BUILDS = re.compile(
    r"^(build|_build|build_wrapper|_maybe_build|_maybe_rebuild|symbolic_call|compute_output_spec|build_from_config"
    r"|from_config|clone_model|_initialize_tracker)$"
)
_SAVES = re.compile(r"^(save|load|write|read|restore|export|_save|_load|_write|_read|_restore)(_|$)")
_SAVING = re.compile(
    r"/keras/src/(saving|legacy/saving|export)/|/tensorflow/python/(checkpoint|saved_model|training/saver)"
    r"|/(tf_keras|keras)/.*/saving/"
)
_ADAPTER = re.compile(r"/trainers/(data_adapters|epoch_iterator)|/engine/data_adapter")
_TRAINER = re.compile(
    r"/keras/src/(backend/tensorflow/trainer|trainers/|callbacks/|utils/progbar)|/engine/training"
)


def mark_of(code: CodeType) -> int:
    file, name = code.co_filename, code.co_name
    if file.startswith("<frozen importlib") or "/importlib/" in file:
        return IMPORTING
    if file == _CAPTURE and name == "catch":
        return CAPTURING
    if not _LIBRARY.search(file):
        return PYTHON
    if (_TRACES.match(name) and "/eager/polymorphic_function/" in file) or name == "func_graph_from_py_func":
        return TRACING
    if _SAVING.search(file) and _SAVES.match(name):
        return SAVING
    if _BUILDS.match(name) and "keras" in file:
        return BUILDING
    if name in ("_numpy", "numpy", "__array__", "_numpy_internal") and "/framework/" in file:
        return READING
    if _ADAPTER.search(file):
        return ADAPTING
    if "/tensorflow/python/data/" in file:
        return INPUT
    if name == "call_function" and "/eager/" in file:
        return GRAPHS
    return TRAINER if _TRAINER.search(file) else LIBRARY


class Account:
    """The main thread's seconds, by row (kind of work and user lines).

    began, ended: seconds on the program's clock. `ended` is the end of the program's last line; after it, the
    program may still wait for the observer to close a window. iterating: the user's lines that iterate over
    datasets.
    """

    def __init__(self, began: float) -> None:
        self.began, self.main, self.task = began, Own.thread(), Own.native_thread()
        self.rows: dict[Row, float] = {}
        self.pause, self._late, self._prompt = PAUSE_S, 0.0, False
        self.cost, self.n, self._phase = 0.0, 0, 0.0
        self._last = began
        self.ended: float | None = None
        self._row_before: Row = ENDING
        self._codes: dict[int, tuple[CodeType, int]] = {}
        self._ran = self._delayed = 0.0
        self._slices: bytes | None = None
        self._usual: float | None = None
        self._others: set[tuple[int, int, int]] = set()
        self._crowded = began - QUIET_S
        self._files: dict[str, int] = {}
        self._made: list[tuple[float, float, Row]] = []
        self._inside: list[tuple[float, Row, float, float]] = []
        self._entered: float | None = None
        self._in_calls = self._assigned = 0.0
        self._cpu_at = self._cpu_in_calls = self._cpu_assigned = 0.0
        self._latest: dict[bool, tuple[float, Row]] = {}
        self._slept: tuple[float, Row] = began, ENDING
        self._unplaced = 0.0
        self._awake: tuple[float, Row] = 0.0, ENDING
        self._since: dict[Row, float] = {}
        self.iterating: set[tuple[str, int]] = set()

    def wait(self, leaving: Flag) -> bool:
        self._phase = (self._phase + GOLDEN) % 1
        pause = self.pause * (0.5 + self._phase)
        prompt = self._last - self._crowded >= QUIET_S
        if prompt:
            self._usual = Own.interval()
            Own.set_interval(PROMPT_S)
        due = Own.now() + pause
        left = leaving.wait(pause)
        self._late, self._prompt = Own.now() - due, prompt
        self.restore()
        return left

    def restore(self) -> None:
        """Restore the interpreter's switch interval, unless the program has changed it in the meantime."""
        usual, self._usual = self._usual, None
        if usual is not None and abs(Own.interval() - PROMPT_S) < 1e-6:
            Own.set_interval(usual)

    def frames(self) -> dict[int, FrameType]:
        """Return the current frames of all other threads. Read their lines before calling `sample`, which
        lets the threads continue.
        """
        # While Python 3.11 lists the frames, it holds the lock that every thread needs to start or end. A
        # garbage collection may then begin, and a finalizer that releases the interpreter lock would let such
        # a thread block the whole program (python/cpython#106883).
        collects = Own.collects()
        if collects:
            Own.postpone_collecting()
        try:
            frames = Own.frames()
        finally:
            if collects:
                Own.collect()
        # Drop our own frame, because it would refer to itself through `frames`. The garbage collector would
        # have to free it with all its references, and Python 3.11 would crash.
        frames.pop(Own.thread(), None)
        others = {(each, id(frame), frame.f_lasti) for each, frame in frames.items() if each != self.main}
        if others - self._others:
            self._crowded = Own.now()
        self._others = others
        return frames

    def look(self) -> None:
        self.sample(self.frames().get(self.main))

    def sample(self, frame: FrameType | None, late: bool = False) -> None:
        """Assign the time since the last sample to the row of this frame.

        late: True if something other than the program, such as a profiler window, delayed the sample.
        """
        begun = Own.thread_cpu()
        now, entered = Own.now(), self._entered
        took, self._last = now - self._last, now
        # Read the frames before opening any file, because the main thread continues in the meantime.
        row, plain = self._row(frame)
        covered = self._assign_made(now)
        took, self._assigned = max(0.0, took - covered), self._assigned + covered
        in_calls = self._in_calls + (now - entered if entered is not None else 0.0) - self._assigned
        in_calls = min(took, max(0.0, in_calls))
        asleep = self._asleep(took, in_calls, entered is not None)
        sleeps = plain and self._waits(late, asleep > (took - in_calls) / 2)
        if sleeps:
            # At its end, a loop over a dataset waits for the threads of its pipeline.
            self._slept = now, ("input" if row[1][-1] in self.iterating else "waiting", *row[1:])
        if self.ended is None:
            self._row_before = row
            self._share(row, took, in_calls, entered is not None, asleep, sleeps)
            if entered is not None:
                same = [each for each in self._inside if each[0] == entered]
                self._inside = [*same, (entered, row, in_calls, min(in_calls, now - entered))]
        else:
            after = min(took, now - self.ended)
            self._add_around(self._row_before, took - after, asleep)
            self._add(ENDING, after)
        self.n += 1
        spent = Own.thread_cpu() - begun
        self.cost += (spent - self.cost) / min(self.n, 20)
        self.pause = min(LONGEST_PAUSE_S, max(PAUSE_S, self.cost / SHARE))

    def _add(self, row: Row, took: float) -> None:
        if row not in self.rows and len(self.rows) >= MOST_ROWS:
            row = row[0], row[1][:1], "", ""
            if row not in self.rows and len(self.rows) >= 2 * MOST_ROWS:
                row = row[0], (), "", ""
        self.rows[row] = self.rows.get(row, 0.0) + took

    def _add_around(self, row: Row, took: float, asleep: float, sleeps: bool = False) -> None:
        """Divide seconds of code around calls between running and waiting.

        sleeps: True if the sample found the thread asleep on the row's line; the code that ran before is then
        probably elsewhere. asleep: seconds in which the thread was asleep. They count as waiting on the line
        on which a sample has recently found the thread asleep; without such a line, the thread may have slept
        in an op.
        """
        at, waiting = self._slept
        if row[1] == waiting[1]:
            # The thread may have slept on this line while earlier samples found it in ops.
            asleep, self._unplaced = asleep + self._unplaced, 0.0
        waited = min(took, asleep) if row[0] == "python" and at > self._last - RECENT_S else 0.0
        if waited:
            self._add(waiting, waited)
        self._unplaced = min(self._unplaced + asleep - waited, LONGEST_PAUSE_S)
        self._add(self._running(row) if sleeps else row, took - waited)

    def _running(self, row: Row) -> Row:
        """Return the row of the Python code that ran before a sleep: that of the latest sample outside calls
        and sleeps, or else the line of the latest call, or else the given row.
        """
        at, awake = self._awake
        if at >= self._last - RECENT_S:
            return awake
        at, call = self._latest.get(True, (0.0, row))
        return ("python", call[1], "", call[3]) if at >= self._last - RECENT_S else row

    def _assign_made(self, now: float) -> float:
        """For each call that traced, compiled or saved, count the call's whole time as this kind of work.

        Withdraw the time that samples inside the call had assigned to other rows. Return the seconds that no
        sample had assigned yet.
        """
        covered = 0.0
        made = [each for each in list(self._made) if each[1] <= now]
        for began, ended, row in made:
            self._made.remove((began, ended, row))
            self._add(row, ended - began)
            covered += ended - began
            for start, sampled, in_calls, within in self._inside:
                if start == began:
                    # The first sample inside the call also covers earlier calls, which were of another kind.
                    self._add(sampled, -in_calls)
                    self._add(("graphs", *row[1:]), in_calls - within)
                    covered -= within
        return covered

    def _share(
        self, row: Row, took: float, in_calls: float, inside: bool, asleep: float, sleeps: bool
    ) -> None:
        """Divide the time since the last sample between the calls and the code around them.

        A thread that runs Python code holds the interpreter lock for up to 5 ms. In a loop with short
        iterations, every sample therefore sees the call that releases the lock, and only the hooks know how
        long the calls took.

        row: the sampled row. in_calls: seconds in calls. inside: True if the sample is inside a call. asleep:
        seconds outside calls in which the thread was asleep. sleeps: True if the sample found it asleep.
        """
        self._assigned += in_calls
        self._latest[inside] = self._last, row
        if not inside and not sleeps:
            self._awake = self._latest[inside]
        if len(self._since) < MOST_ROWS:
            self._since.setdefault(row, self._last)
        if inside:
            self._add(row, in_calls)
        else:
            self._add_around(row, took - in_calls, asleep, sleeps)
        if (took - in_calls if inside else in_calls) <= 0:
            return
        at, other = self._latest.get(not inside, (0.0, row))
        if at < max(self._last - RECENT_S, self._since.get(row, 0.0)):
            # No sample shows the code around these calls: earlier samples belong to another part of the
            # program.
            direct = inside and row[2].endswith(DIRECT)
            other = ("python", row[1], "", row[3]) if direct else row
        if inside:
            slept = self._latest.get(False, self._awake) != self._awake
            self._add_around(other, took - in_calls, asleep, slept and other is not row)
        else:
            self._add(other, in_calls)

    def enter(self) -> bool:
        """Record that the main thread enters a call that releases the interpreter lock. Return True if it was
        recorded.

        Records nothing in any other thread, or inside a call that is already recorded.
        """
        if self._entered is not None or Own.thread() != self.main:
            return False
        self._cpu_at = Own.thread_cpu()
        self._entered = Own.now()
        return True

    def leave(self, made: str = "", call: str = "") -> None:
        """Record the end of the call that `enter` recorded.

        made: `tracing` or `compiling` if the call made a graph or a program, `saving` if it wrote or read a
        file. The call's whole time is then of this kind, unless the call is part of building or saving a
        model. call: the called function's name, such as `Checkpoint.write`.
        """
        if self._entered is not None:
            began, now = self._entered, Own.now()
            if made:
                (kind, lines, inner, function), _ = self._row(Own.frame(1))
                if kind in ("graphs", "eager", "python", "tracing"):
                    row: Any = (made, lines, call or inner, function)
                    self._made.append((began, now, row))
            self._in_calls += now - began
            self._cpu_in_calls += Own.thread_cpu() - self._cpu_at
            self._entered = None

    def take(self) -> list[tuple[Row, float]]:
        """Return the rows with their seconds, and start again from empty rows.

        A row's seconds may be negative: `_assign_made` withdraws time that an earlier `take` has returned.
        """
        rows, self.rows = self.rows, {}
        return list(rows.items())

    def _row(self, frame: FrameType | None) -> tuple[Row, bool]:
        """Return the row of a frame, and True if the row's kind is `python`, in which case the thread might
        be waiting.
        """
        lines: list[tuple[str, int]] = []
        inner, scope, own, call, function, deciding = None, None, False, "", "", PYTHON
        entry: FrameType | None = None
        at = frame
        while at is not None:
            code = at.f_code
            if is_own(code.co_filename):
                if not own:
                    own, function = True, code.co_name
                    call = _call(entry) if entry is not None else ""
                lines.append((code.co_filename, at.f_lineno))
            else:
                mark = self._mark(code)
                if mark in SCOPES and (mark != IMPORTING or not own):
                    scope = mark
                elif not own:
                    if inner is None and mark in INNER:
                        inner = mark
                    deciding = max(deciding, mark)
                if not own and mark not in (PYTHON, IMPORTING) and (entry is None or not _wraps(code)):
                    entry = at
            at = at.f_back
        if frame is None:
            return ("unknown", (), "", ""), False
        if scope == CAPTURING:
            return CATCHING, False
        if len(lines) > MOST_LINES:
            lines = lines[:EDGE] + lines[-EDGE:]
        if scope is not None:
            kind = SCOPES[scope]
        elif inner is not None:
            kind = INNER[inner]
        elif deciding == TRAINER or call in TRAINING:
            kind = "graphs"
        elif deciding == LIBRARY and entry is not None and _makes(entry.f_code):
            kind = "building"
        elif deciding == LIBRARY:
            kind = "eager"
        elif not own:
            kind = "unknown"
        else:
            kind = "python"
        row = kind, tuple(reversed(lines)), "" if kind == "importing" else call, function
        return row, kind == "python"

    def _mark(self, code: CodeType) -> int:
        known = self._codes.get(id(code))
        if known is None:
            if len(self._codes) > MOST_CODES:
                self._codes.clear()
            # Keep a reference to the code object, so that its id is not reused.
            known = self._codes[id(code)] = code, mark_of(code)
        return known[1]

    def _waits(self, late: bool, idle: bool) -> bool:
        """Return True if the main thread is waiting for something outside Python.

        While the sampling thread holds the interpreter lock, every other thread appears to be asleep. Unlike
        a thread that is asleep, a thread that only waits for the lock runs as soon as the lock is free.

        This shows nothing if other threads may take the lock first, or if the system does not count how often
        a thread runs. Then, the delay of the sample decides, because a thread that runs Python code gives up
        the lock only after 5 ms; or else the main thread's processor time (`idle`).
        """
        prompt, slices = self._prompt and not late, self._slices
        if prompt and slices is not None:
            Own.sleep(SETTLE_S)
            self._times()
        state = self._read("stat").rpartition(b")")[2].split()[:1]
        if not state or state[0] == b"R":
            return False
        if prompt:
            return slices == self._slices if slices is not None else idle
        return idle or (not late and self._late < SOON_S)

    def _asleep(self, took: float, in_calls: float, inside: bool) -> float:
        """Return the seconds since the last sample that the thread slept outside calls.

        Assumes that delays by other threads on the processor spread evenly over the time since then.
        """
        ran, delayed = self._times()
        cpu = self._cpu_in_calls + (max(0.0, ran - self._cpu_at) if inside else 0.0)
        around = took - in_calls
        busy = max(0.0, ran - self._ran - (cpu - self._cpu_assigned))
        busy += (delayed - self._delayed) * around / took if took else 0.0
        self._ran, self._delayed, self._cpu_assigned = ran, delayed, cpu
        return max(0.0, around - busy)

    def _times(self) -> tuple[float, float]:
        """Return the seconds that the main thread ran, and the seconds that it waited for a processor. Also
        record how often it began to run.
        """
        fields = self._read("schedstat").split()
        self._slices = fields[2] if len(fields) > 2 else None
        try:
            return int(fields[0]) / 1e9, int(fields[1]) / 1e9
        except (IndexError, ValueError):
            return 0.0, 0.0

    def _read(self, name: str) -> bytes:
        try:
            if name not in self._files:
                path = "/proc/self/task/%d/%s" % (self.task, name)
                self._files[name] = Own.open_number(path, os.O_RDONLY | os.O_CLOEXEC)
            return Own.read_at(self._files[name], 1_024, 0)
        except OSError:
            return b""


def _wraps(code: CodeType) -> bool:
    return "traceback_utils" in code.co_filename or code.co_name in (
        "wrapper",
        "wrapped",
        "inner_wrapper",
        "op_dispatch_handler",
        "new_func",
        "deprecated_wrapper",
    )


def _makes(code: CodeType) -> bool:
    return code.co_name in MAKERS and "/keras/" in code.co_filename


def _call(frame: FrameType) -> str:
    code = frame.f_code
    if "fn" in code.co_freevars and _wraps(code):
        code = getattr(frame.f_locals.get("fn"), "__code__", code)
    name = getattr(code, "co_qualname", "") or code.co_name
    owner, dot, method = name.rpartition(".")
    if "<locals>" in owner:
        owner, dot = "", ""
    if "/trainer" in code.co_filename or "/engine/training" in code.co_filename:
        return "Model." + method
    # in Python 3.10 and earlier, code objects have no qualified names
    if not dot and "self" in code.co_varnames[:1]:
        owner, dot = type(frame.f_locals.get("self")).__name__, "."
    if owner == "Layer" and any(c.__name__ == "Model" for c in type(frame.f_locals.get("self")).__mro__):
        owner = "Model"
    return owner + dot + method
