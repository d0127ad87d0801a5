"""Collects the facts about a watched process from its observer's messages. Pure functions."""

from array import array
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import PurePath

from tuilab.analysis.statistics import Estimate, estimate
from tuilab.model import program as p
from tuilab.model.ops import NO_WORK
from tuilab.program.gains import LARGEST
from tuilab.program.window import LONG, TRACING, Seen

MOST_STEPS = 200_000
"""Maximum number of calls of each kind that are stored individually."""
FEW = 3
MUCH_LARGER = 1.5
"""A graph of a training step has at least this many times as many ops as that of the validation."""
MANY = 50

CALLBACK = "callback "
"""Prefix of the library name in samples from a callback that the library runs on the stepping thread."""
INPUT = "waiting for input"
STARTING = ("dispatch", "scheduling")
"""Parts of a step in which ops are launched."""


Place = tuple[p.AccountKind, tuple[tuple[str, int], ...], str, str]
"""Kind of time, user lines (outermost first), library entry point, user function."""


@dataclass
class Calls:
    """The calls of one kind.

    starts, ends: start and end times of the latest calls. n: total number of calls. first: start time of the
    first call. spent: total seconds of the calls that did not trace.
    """

    starts: "array[float]" = field(default_factory=lambda: array("d"))
    ends: "array[float]" = field(default_factory=lambda: array("d"))
    traced: set[int] = field(default_factory=set)
    n: int = 0
    spent: float = 0.0
    first: float = 0.0

    def add(self, start: float, end: float, traced: bool) -> None:
        """Add a call. Times are in seconds on the program's clock. end: 0 if unknown."""
        self.first = self.first if self.n else start
        self.n += 1
        self.spent += 0.0 if traced or not end else end - start
        if len(self.starts) >= MOST_STEPS:
            old = MOST_STEPS // 2
            del self.starts[:old], self.ends[:old]
            self.traced = {index - old for index in self.traced if index >= old}
        if traced:
            self.traced.add(len(self.starts))
        self.starts.append(start)
        self.ends.append(end or start)

    def slower(self) -> float:
        """Return the total seconds by which calls and gaps exceed the fastest tenth of all calls or gaps.

        Counts calls that did not trace, and gaps after calls that traced.
        """
        calls = list(zip(self.starts, self.ends, strict=True))
        gaps = [start - end for (_, end), (start, _) in pairwise(calls)]
        usual = [end - start for i, (start, end) in enumerate(calls) if i not in self.traced]
        after = [gap for i, gap in enumerate(gaps) if i in self.traced]
        return (_beyond(usual, usual) + _beyond(after, gaps)) / self.kept

    @property
    def kept(self) -> float:
        return len(self.starts) / self.n if self.n else 1.0


def _beyond(lengths: list[float], of: list[float]) -> float:
    """Return the total seconds by which `lengths` exceed the fastest tenth of `of`."""
    return sum(lengths) - len(lengths) * _quickest_tenth(of) if lengths else 0.0


def _quickest_tenth(lengths: list[float]) -> float:
    return sorted(lengths)[len(lengths) // 10]


def _middle(lengths: list[float]) -> float:
    return sorted(lengths)[len(lengths) // 2] if lengths else 0.0


@dataclass
class Gaps:
    """Seconds between the calls of steps, by use.

    waiting: waiting for batches. others: other tf.functions. total: from the start of the first step to the
    end of the last. python: the rest of the time between calls. rare: the part of `python` that does not
    occur in every step. least: `total` without `rare`, if every call were as fast as the fastest tenth and
    every op started on time.
    """

    total: float = 0.0
    waiting: float = 0.0
    others: float = 0.0
    python: float = 0.0
    rare: float = 0.0
    least: float = 0.0


@dataclass(frozen=True)
class Pace:
    """Seconds per step in the first and last fifth of the steps, and the total seconds lost to a slowdown."""

    n: int
    early_s: float
    late_s: float
    lost_s: float


@dataclass
class Singles:
    """Ops that Python launches individually: their number per step, their share of a step, and the share of a
    step in which such an op is being launched while no op computes.
    """

    ops: float = 0.0
    share: float = 0.0
    starting: float = 0.0


@dataclass
class Process:
    hello: p.Hello | None = None
    functions: dict[int, p.Function] = field(default_factory=dict)
    calls: dict[p.Key, Calls] = field(default_factory=lambda: defaultdict(Calls))
    waits: Calls = field(default_factory=Calls)
    loops: Calls = field(default_factory=Calls)
    """Iterations of a loop of ops, as seen in profiler windows."""
    traces: dict[int, list[tuple[float, list[list[object]] | None]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    samples: Counter[tuple[str, int, str, str, int]] = field(default_factory=Counter)
    after: Counter[tuple[str, int, str, str, int]] = field(default_factory=Counter)
    """Samples since the last step. They are separate because code after the last step does not slow down any
    step.
    """
    stacks: Counter[tuple[tuple[str, int], ...]] = field(default_factory=Counter)
    """Stacks of lines, outermost first, in which the stepping thread ran an individual op."""
    iterators: int = 0
    made: dict[int, int] = field(default_factory=dict)
    """Number of creations of each tf.function that the program recreates after one or two calls."""
    makers: Counter[tuple[str, int, str]] = field(default_factory=Counter)
    """Lines of user code that other threads ran, such as threads that prepare batches."""
    reads: dict[tuple[str, int], tuple[int, float]] = field(default_factory=dict)
    fed: dict[int, tuple[int, int]] = field(default_factory=dict)
    copied: dict[tuple[str, int], tuple[int, int, float]] = field(default_factory=dict)
    compiled: dict[int, tuple[int, float]] = field(default_factory=dict)
    recurrent: dict[str, tuple[str, str]] = field(default_factory=dict)
    graphs: dict[int, dict[str, p.Graph]] = field(default_factory=lambda: defaultdict(dict))
    """Graphs with shapes, by the function's number and the graph's name."""
    tapes: dict[tuple[str, int], tuple[int, bool]] = field(default_factory=dict)
    facts: p.Facts | None = None
    datasets: list[p.Dataset] = field(default_factory=list)
    nodes: dict[str, tuple[str, str, str, int]] = field(default_factory=dict)
    """Op, dtype, file and line of each graph node, by the node's name."""
    layers: set[str] = field(default_factory=set)
    held: dict[int, dict[str, tuple[str, int]]] = field(default_factory=lambda: defaultdict(dict))
    """First known line of each op in the graphs of each tf.function, by the function's number."""
    sizes: dict[int, dict[str, int]] = field(default_factory=lambda: defaultdict(dict))
    """Number of computing ops in each graph, by the tf.function's number and the graph's name."""
    windows: list[tuple[p.Window, Seen]] = field(default_factory=list)
    opened: list[p.Window] = field(default_factory=list)
    """All profiler windows, read or not."""
    kernels: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    uses_profiler: bool = False
    delayed: float = 0.0
    worked: list[tuple[float, float]] = field(default_factory=list)
    """The times of the first and the last report of steps, each with the process's total processor seconds so
    far.
    """
    last: float = 0.0
    ended: bool = False
    spent: dict[Place, float] = field(default_factory=lambda: defaultdict(float))
    counted: dict[tuple[str, int, str], tuple[int, int]] = field(default_factory=dict)
    """Number of calls and number of samples passed to them, by line and library entry point."""
    wall: float = 0.0
    """Total seconds in `spent`."""
    spans: dict[tuple[str, tuple[str, int]], tuple[float, float]] = field(default_factory=dict)
    """For each kind of time and each line, the values of `wall` at the first and the last report."""
    watching: float = 0.0
    cpu: float = 0.0
    """Processor seconds of the observer (`watching`) and of the whole process (`cpu`)."""
    _durations: tuple[object, Mapping[int, float]] | None = field(default=None, repr=False, compare=False)
    _estimate: tuple[object, Estimate | None] | None = field(default=None, repr=False, compare=False)
    _waited: tuple[object, float | None] | None = field(default=None, repr=False, compare=False)

    def apply(self, told: p.Told) -> None:
        """Apply one message. For a window, the caller must also read the window's file and call `looked`."""
        match told:
            case p.Hello():
                self.hello, self.last = told, told.now
            case p.Function():
                self.functions[told.number] = told
            case p.Traces():
                self.traces[told.number] += told.traces
            case p.Steps():
                self._steps(told)
            case p.Facts():
                self.facts = (
                    told if told.opened or self.facts is None or not self.facts.opened else self.facts
                )
            case p.Dataset():
                if len(self.datasets) < 100:
                    self.datasets.append(told)
            case p.Graph():
                working = sum(op not in NO_WORK for _, op, *_ in told.nodes)
                sizes = self.sizes[told.number]
                sizes[told.name] = max(working, sizes.get(told.name, 0))
                self.layers.update(told.layers)
                self.recurrent |= {name: (kind, why) for name, kind, why in told.recurrent}
                if told.shapes:
                    self.graphs[told.number][told.name] = told
                held = self.held[told.number]
                for name, op, dtype, file, line in told.nodes:
                    self.nodes.setdefault(name, (op, dtype, file, line))
                    if not held.get(op, ("", 0))[0]:
                        held[op] = file, line
            case p.Window():
                self.opened.append(told)
            case p.Kernels():
                self.kernels |= told.ops
            case p.Fault():
                self.faults.append(told.text)
            case p.Profiler():
                self.uses_profiler = True
            case p.Account():
                for kind, stack, call, function, seconds in told.rows:
                    self.spent[kind, stack, call, function] += seconds
                    if stack:
                        first, _ = self.spans.get((kind, stack[-1]), (told.wall, told.wall))
                        self.spans[kind, stack[-1]] = first, told.wall
                self.counted = {(file, line, call): (n, of) for file, line, call, n, of in told.calls}
                self.wall, self.watching, self.cpu = told.wall, told.watching, told.cpu
            case p.End():
                self.last, self.ended = told.now, True

    def looked(self, window: p.Window, seen: Seen) -> None:
        self.windows.append((window, seen))
        for begin, end in seen.loop:
            self.loops.add(window.start + begin, window.start + end, False)

    def _steps(self, told: p.Steps) -> None:
        self.last, self.delayed = told.now, told.delayed
        if (told.calls or told.waits) and not (self.calls or self.waits.n):
            self.stacks.clear()  # these stacks precede the first step
        if told.calls:
            self.worked = [*self.worked[:1], (told.now, told.cpu)]
        for key, start, end, traced in told.calls:
            self.calls[key].add(start, end, traced)
        for start, took in told.waits:
            self.waits.add(start, start + took, False)
        if told.calls or told.waits:
            self.samples += self.after
            self.after.clear()
        into = self.samples if told.calls or told.waits else self.after
        for *where, count in told.samples:
            into[tuple(where)] += count  # type: ignore[index]
        for stack, count in told.stacks:
            self.stacks[stack] += count
        self.iterators, self.made = told.iterators, dict(told.made)
        self.makers = Counter({tuple(where): count for *where, count in told.makers})  # type: ignore[misc]
        self.reads = {(file, line): (n, took) for file, line, n, took in told.reads}
        self.fed = {number: (n, size) for number, n, size in told.fed}
        self.copied = {(file, line): (n, size, took) for file, line, n, size, took in told.copied}
        self.compiled = {number: (n, took) for number, n, took in told.compiled}
        self.tapes = {(file, line): (n, library) for file, line, n, library in told.tapes}

    # Derived figures

    @property
    def step(self) -> p.Key | None:
        """The key of the calls that count as steps: a gradient tape's line, or the tf.function with the most
        time. Of the functions of one `fit`, that is the function that trains.
        """
        numbers = [key for key, calls in self.calls.items() if isinstance(key, int) and calls.n >= FEW]
        best = max(numbers, key=lambda key: self.calls[key].spent, default=None)
        best = max(self._larger(best, numbers), key=lambda key: self.calls[key].spent, default=best)
        tape = max(self.tapes, key=lambda key: self.tapes[key][0], default=None)
        if tape is not None and self.tapes[tape][0] >= max(
            FEW, self.calls[best].n // 2 if best is not None else 0
        ):
            return tape
        return best

    def _larger(self, key: int | None, numbers: Sequence[int]) -> list[int]:
        """Return the functions of a library with the same code and caller as this one, but a much larger
        graph: a training step also computes gradients.
        """
        function = self.functions.get(key) if key is not None else None
        if key is None or function is None or function.own or not self._size(key):
            return []
        return [
            number
            for number in numbers
            if self._code(number) == self._code(key)
            and self.functions[number].caller == function.caller
            and self._size(number) > MUCH_LARGER * self._size(key)
        ]

    def _size(self, number: int) -> int:
        """Return the number of ops in the graphs of a function; 0 if unknown."""
        return sum(self.sizes[number].values()) if number in self.sizes else 0

    @property
    def steps(self) -> Calls:
        """The calls that count as steps, or else a loop's batches, or else the iterations of a loop of
        ops.
        """
        key = self.step
        if key is not None:
            return self.calls[key]
        return self.waits if self.waits.n >= FEW else self.loops

    @property
    def kind(self) -> p.Kind:
        key = self.step
        if key is None:
            return "batch" if self.waits.n >= FEW else "eager" if self.loops.n >= FEW else ""
        if isinstance(key, tuple):
            return "keras" if self.tapes[key][1] else "eager"
        function = self.functions.get(key)
        library = function is not None and not function.own and "keras" in function.file
        return "keras" if library else "tf.function"

    def durations(self) -> Mapping[int, float]:
        """Return the seconds from the start of each step to the start of the next, by the step's number.

        Excludes steps that traced or were inside a profiler window, unless there are no others.
        """
        steps = self.steps
        seen = steps is self.loops, steps.n, len(steps.ends), len(steps.traced), len(self.opened)
        if (
            self._durations is None or self._durations[0] != seen
        ):  # cached, because a page needs the durations several times
            self._durations = seen, self._find_durations()
        return self._durations[1]

    def _find_durations(self) -> dict[int, float]:
        if self.steps is self.loops:  # between two windows, iterations are not observed
            return {i: self.loops.ends[i] - self.loops.starts[i] for i in range(len(self.loops.starts))}
        calls, out, at = self.steps, dict[int, float](), 0
        gone = calls.n - len(calls.starts)
        windows = sorted((w.start, w.end) for w in self.opened)
        for index in range(len(calls.starts) - 1):
            if index in calls.traced or index + 1 in calls.traced:
                continue
            start, end = calls.starts[index], calls.starts[index + 1]
            while at < len(windows) and windows[at][1] < start:
                at += 1
            if at < len(windows) and windows[at][0] < end:
                continue
            out[gone + index] = end - start
        whole = [calls.starts[i + 1] - calls.starts[i] for i in range(len(calls.starts) - 1)]
        if len(out) < FEW:  # a single window may cover a whole short program
            out = {gone + i: took for i, took in enumerate(whole) if i not in calls.traced}
        return out if len(out) >= FEW else {gone + i: took for i, took in enumerate(whole)}

    def pace(self) -> Pace | None:
        """Return the step times at the run's start and end; None without a clear trend.

        Step times that both rise and fall, as on a busy machine, are not a trend.
        """
        took = [length for _, length in sorted(self.durations().items())]
        took = took[len(took) // 20 :]
        if len(took) < MANY:
            return None
        size = len(took) // 5
        middles = [_middle(took[i * size : (i + 1) * size]) for i in range(5)]
        rising = [b > 1.05 * a for a, b in pairwise(middles)].count(True)
        falling = [b < 0.95 * a for a, b in pairwise(middles)].count(True)
        if max(rising, falling) < 1 or (rising and falling):
            return None
        lost = sum(max(0.0, each - middles[0]) for each in took)
        return Pace(len(took), middles[0], middles[-1], lost)

    @property
    def lasted_s(self) -> float:
        return self.wall or (self.last - self.hello.began if self.hello else self.last)

    def started_after(self, began: float) -> float:
        """Return the seconds from `began` (since the epoch) until this process's Python started."""
        hello = self.hello
        return max(0.0, hello.clock - (hello.now - hello.began) - began) if hello and hello.clock else 0.0

    @property
    def stepping_s(self) -> float:
        """Total seconds of the steps, without gaps that are much longer than a step."""
        if self.steps is self.loops:  # only windows observe loops of ops
            seen = (self.samples + self.after).total()
            since = self.last - (self.hello.now if self.hello else 0.0)
            return since * self.stacks.total() / seen if seen else 0.0
        return self._limited_s() / self.steps.kept

    @property
    def whole_s(self) -> float:
        """Total seconds of the steps like `stepping_s`, but with the steps that traced."""
        if self.steps is self.loops:
            return self.stepping_s
        starts, traced = self.steps.starts, self.steps.traced
        made = sum(b - a for i, (a, b) in enumerate(pairwise(starts)) if i in traced)
        return (self._limited_s() + made) / self.steps.kept

    @property
    def pauses_s(self) -> float:
        """Total seconds by which gaps that are much longer than a step exceed a typical step."""
        took = self._untraced()
        usual = _middle(took)
        return sum(each - usual for each in took if each > LONG * usual) / self.steps.kept

    @property
    def held_up_s(self) -> float:
        """Total seconds by which untraced calls that are much longer than a step exceed that limit. A graph
        that takes its own input waits in such a call for the first batch of an epoch.
        """
        most, calls = LONG * _middle(self._untraced()), zip(self.steps.starts, self.steps.ends, strict=True)
        long = (b - a - most for i, (a, b) in enumerate(calls) if i not in self.steps.traced and b - a > most)
        return sum(long) / self.steps.kept if most else 0.0

    def _limited_s(self) -> float:
        took = self._untraced()
        most = LONG * _middle(took)
        return sum(min(each, most) for each in took)

    @property
    def mean_step_s(self) -> float:
        """Mean seconds from the start of a step to that of the next; 0 if unknown."""
        took = self._untraced()
        return sum(took) / len(took) if took else self.profiled_step_s

    def _untraced(self) -> list[float]:
        starts, traced = self.steps.starts, self.steps.traced
        return [b - a for i, (a, b) in enumerate(pairwise(starts)) if i not in traced]

    def times(self) -> p.StepTimes:
        if not self.kind:
            return p.StepTimes()
        took = self.durations()
        if self._estimate is None or self._estimate[0] is not took:
            self._estimate = took, estimate(list(took.values()))
        found = self._estimate[1]
        if found is None:
            return p.StepTimes(n=self.steps.n, kind=self.kind, name=self.step_name, total_s=self.whole_s)
        low, high = getattr(found, "low", None), getattr(found, "high", None)
        return p.StepTimes(
            n=self.steps.n,
            median_s=found.median,
            ci95_s=(low, high) if low is not None and high is not None else None,
            kind=self.kind,
            name=self.step_name,
            total_s=self.whole_s,
        )

    @property
    def step_name(self) -> str:
        """Name of the user function that runs a step, or the line of its gradient tape."""
        key = self.step
        if isinstance(key, tuple):
            return "" if self.tapes[key][1] else f"{PurePath(key[0]).name}:{key[1]}"
        function = self.functions.get(key) if key is not None else None
        return function.name.rpartition(".")[2] if function is not None and function.own else ""

    def gaps(self) -> Gaps:
        calls, out = self.steps, Gaps()
        key = self.step
        if not (isinstance(key, int) or calls is self.waits) or len(calls.starts) < FEW:
            return out
        begin, end = calls.starts[0], calls.ends[-1]
        if 0 in calls.traced:
            begin = calls.ends[0]
        own = [end - start for start, end in zip(calls.starts, calls.ends, strict=True) if start >= begin]
        inside = sum(own)
        out.waiting = _within(self.waits, begin, end) if calls is not self.waits else 0.0
        for other, rows in self.calls.items():
            if other != key and isinstance(other, int):
                out.others += _within(rows, begin, end, traced=True)
        out.total = end - begin
        out.python = max(0.0, end - begin - inside - out.waiting - out.others)
        out.least = len(own) * _quickest_tenth(own) + out.waiting + out.others
        if self.seen:
            # During a pause, the threads of TensorFlow's pool fall asleep, so ops that must wake a thread
            # start late.
            steps = self.typical
            work = total_seconds(steps) * (1 - self.share("python", *STARTING)) / len(steps)
            out.least = min(out.least, len(own) * work)
        between = [start - end for start, end in zip(calls.starts[1:], calls.ends, strict=False)]
        usual = _middle(between)
        beyond = sorted(max(0.0, gap - LONG * usual) for gap in between)
        # The longest gap may be a one-time warm-up.
        out.rare, once = sum(beyond[:-1]), beyond[-1]
        out.total, out.python = out.total - once, max(0.0, out.python - once)
        out.rare = min(out.python, out.rare)
        return out

    @property
    def starved(self) -> float:
        """The share of the time in which the stepping thread was ready but had no processor."""
        lasted = self.last - (self.hello.now if self.hello else self.last)
        return min(1.0, max(0.0, self.delayed / lasted)) if lasted > 0 else 0.0

    def undisturbed(self, share: float) -> float:
        """Return the minimum share of a step that a part would take if no other process used the processors.

        Assumes that the part contains all of the starved time.
        """
        return max(0.0, share - self.starved) / (1 - self.starved) if self.starved < 1 else 0.0

    @property
    def unplaced_s(self) -> float:
        return sum(seconds for (kind, *_), seconds in self.spent.items() if kind == "unknown")

    @property
    def processors(self) -> float:
        """The share of its allowed processors that the process used during the steps."""
        if len(self.worked) < 2 or self.hello is None or not self.hello.processors:
            return 0.0
        (begin, before), (end, after) = self.worked
        return (after - before) / (end - begin) / self.hello.processors if end > begin else 0.0

    def in_parallel(self, share: float) -> float:
        """Return the maximum share of a step that running `share` of it in parallel saves.

        The step cannot become shorter than its work on all of its processors.
        """
        return min(share, max(0.0, 1 - self.processors))

    @property
    def profiled(self) -> list[tuple[p.Window, Seen]]:
        """The profiler windows that show steps, or else the windows that show other calls.

        A program may train, recompile its model and train again. The steps are then calls of another
        function.
        """
        key = self.step
        those = [each for each in self.windows if each[0].step == key or self._is_alike(key, each[0].step)]
        # A loop of ops that builds a model is not a step. Skip its windows unless the steps are loops as
        # well.
        loops = self.steps is self.loops
        return those or [each for each in self.windows if loops or not each[1].loop]

    def _is_alike(self, key: p.Key | None, other: p.Key | None) -> bool:
        """Return True if both are functions with the same code and graphs of the same size, such as the
        training steps of a model that is compiled again.
        """
        if not isinstance(key, int) or not isinstance(other, int) or self._code(key) is None:
            return False
        sizes = self._size(key), self._size(other)
        return self._code(key) == self._code(other) and (sizes[0] == sizes[1] or 0 in sizes)

    def _code(self, key: p.Key | None) -> tuple[str, int, str] | None:
        function = self.functions.get(key) if isinstance(key, int) else None
        return (function.file, function.line, function.name) if function is not None else None

    @property
    def seen(self) -> list[dict[str, float]]:
        return [step for _, window in self.profiled for step in window.steps]

    @property
    def typical(self) -> list[dict[str, float]]:
        """The profiled steps, without those that trace more often than the program's steps do.

        The first windows open while functions are still being traced, and while a cache is being filled, so
        their waits for input are scaled down to the waits of all steps.
        """
        return self._waiting_as_recorded(self._as_often_traced())

    def _waiting_as_recorded(self, steps: list[dict[str, float]]) -> list[dict[str, float]]:
        seen, waited = sum(step.get(INPUT, 0.0) for step in steps), self.waited_share()
        if waited is None or not seen or waited >= seen / total_seconds(steps):
            return steps
        scale = waited / (1 - waited) * (total_seconds(steps) - seen) / seen
        return [{**step, INPUT: step[INPUT] * scale} if step.get(INPUT) else step for step in steps]

    def waited_share(self) -> float | None:
        """Return the share of the steps' time in recorded waits for batches; None if a step does not begin
        with such a wait.

        Gaps that are much longer than a step count as long steps.
        """
        calls, waits = self.steps, self.waits
        if calls is waits or self.kind == "keras" or min(calls.n, waits.n) < max(MANY, calls.n // 2):
            return None
        if self._waited is None or self._waited[0] != (self.step, calls.n, waits.n):
            self._waited = (self.step, calls.n, waits.n), self._share_waited()
        return self._waited[1]

    def _share_waited(self) -> float | None:
        calls, waits = self.steps, self.waits
        took = self._untraced()
        if not took:
            return None
        most, begin = LONG * _middle(took), max(calls.starts[0], waits.starts[0])
        at, waited, whole = 0, 0.0, 0.0
        for i, (start, following) in enumerate(pairwise(calls.starts)):
            if i in calls.traced or start < begin:
                continue
            at, within = bisect_left(waits.starts, start, lo=at), 0.0
            while at < len(waits.starts) and waits.starts[at] < following:
                within += waits.ends[at] - waits.starts[at]
                at += 1
            whole += min(most, following - start)
            waited += min(most, following - start, within)
        return min(LARGEST, waited / whole) if whole else None

    def _as_often_traced(self) -> list[dict[str, float]]:
        steps, key = self.seen, self.step
        traces = len(self.traces.get(key, ())) if isinstance(key, int) else self.steps.n
        others = [step for step in steps if not step.get(TRACING)]
        if not others or traces >= self.steps.n:
            return steps
        traced = [step for step in steps if step.get(TRACING)]
        wanted = round(len(others) * traces / (self.steps.n - traces))
        return [*others, *traced[max(0, len(traced) - wanted) :]]

    @property
    def profiled_step_s(self) -> float:
        """Mean seconds of a profiled step; 0 if none was profiled."""
        return total_seconds(self.seen) / len(self.seen) if self.seen else 0.0

    def parts(self) -> tuple[p.StepPart, ...]:
        """Return the parts of a step, largest first.

        The shares come from profiled steps. The seconds add up to the median step time.
        """
        steps = self.typical
        total = total_seconds(steps)
        if not total:
            return ()
        middle = self.times().median_s or total / len(steps)
        out = []
        for name in sorted({name for step in steps for name in step}):
            share = sum(step.get(name, 0.0) for step in steps) / total
            out.append(
                p.StepPart(name=name, seconds=share * middle, share=share, ci95=share_interval(steps, name))
            )
        return tuple(sorted(out, key=lambda part: -part.share))

    def called_back(self) -> set[tuple[str, int]]:
        """Return the user lines that the library runs as callbacks."""
        function = self.functions.get(self.step) if isinstance(self.step, int) else None
        caller = function.caller if function is not None else None
        own = {(file, line) for file, line, _, library, _ in self.samples if library.startswith(CALLBACK)}
        if self.kind != "keras":
            return own  # an op below the caller's line computes an argument, as in `step(augment(x))`
        return own | {stack[-1] for stack in self.stacks if caller in stack[:-1]}

    def singles(self) -> Singles:
        total, out = total_seconds(self.seen), Singles()
        for _, seen in self.profiled if total else ():
            steps = len(seen.steps)
            out.ops += seen.singles * steps / len(self.seen)
            out.share += seen.one_by_one * steps / total
            out.starting += seen.starting * steps / total
        return out

    def share(self, *names: str) -> float:
        """Return the share (0 to 1) of a profiled step in parts whose names have one of these prefixes."""
        return sum(part.share for part in self.parts() if part.name.startswith(names))


def total_seconds(steps: Iterable[dict[str, float]]) -> float:
    return sum(sum(step.values()) for step in steps)


def share_interval(steps: Sequence[dict[str, float]], *names: str) -> tuple[float, float] | None:
    """Return the 95% interval of `share`; None for few steps.

    Uses the linearized variance of a ratio over steps.
    """
    n = len(steps)
    if n < FEW:
        return None
    tops = [sum(v for name, v in step.items() if name.startswith(names)) for step in steps]
    lengths = [sum(step.values()) for step in steps]
    ratio, mean = sum(tops) / sum(lengths), sum(lengths) / n
    variance = sum((top - ratio * length) ** 2 for top, length in zip(tops, lengths, strict=True)) / (n - 1)
    half = 2.1 * (variance / n) ** 0.5 / mean
    return max(0.0, ratio - half), min(1.0, ratio + half)


def gain_interval(steps: Sequence[dict[str, float]], *names: str) -> tuple[float, float] | None:
    """Return the interval of the share of a step that removing these parts could save.

    The parts may slow down the rest of a step through caches and threads. The upper end therefore assumes
    that the rest takes only as long as in the fastest tenth of the steps.
    """
    interval = share_interval(steps, *names)
    if interval is None:
        return None
    rests = [sum(v for name, v in step.items() if not name.startswith(names)) for step in steps]
    mean = total_seconds(steps) / len(steps)
    return interval[0], min(1.0, max(interval[1], 1 - _quickest_tenth(rests) / mean))


def _within(calls: Calls, begin: float, end: float, *, traced: bool = False) -> float:
    return sum(
        calls.ends[i] - calls.starts[i]
        for i in range(len(calls.starts))
        if (traced or i not in calls.traced) and begin <= calls.starts[i] and calls.ends[i] <= end
    )
