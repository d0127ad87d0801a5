"""Adds up the time of each call site: Keras calls in a loop, repeated building, saving. Pure functions."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import NamedTuple

from tuilab.analysis.words import percent
from tuilab.model.program import Bottleneck
from tuilab.model.quantity import plural, seconds
from tuilab.program import source
from tuilab.program.case import Case
from tuilab.program.effects import effects

Place = tuple[str, int]
MANY_TRACES = 4
"""A function is reported as retraced, and a model as rebuilt, if it was traced or built at least this many
times.
"""
METHODS = {"Model.predict": "predict", "Model.evaluate": "evaluate", "Model.fit": "fit"}
"""Keras methods that create an input pipeline in each call."""
ONCE = frozenset(("tracing", "compiling", "building", "importing"))
OWN = {
    "python": "the program's own Python and NumPy, not TensorFlow",
    "waiting": "waiting, not for TensorFlow",
    "eager": "ops that Python runs one by one in a loop",
}
GRAPH = "; in a function under @tf.function, they would run as one graph"
EAGER = frozenset(("eager-step", "eager-functions"))
"""The findings that cover the ops that Python runs one by one."""
LARGE = 0.1
"""A part that no finding covers is reported if it takes at least this share of the program's time."""


@dataclass
class Site:
    """A call in user code: its line, the TensorFlow or Keras function that it calls, and its seconds by kind.

    loop: the innermost loop around the call, or else around a call of the enclosing function. count, samples:
    number of calls, and number of samples passed to them; 0 if unknown.
    """

    file: str
    line: int
    call: str
    loop: Place = ("", 0)
    count: int = 0
    samples: int = 0
    kinds: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    @property
    def at(self) -> Place:
        return self.file, self.line

    @property
    def total_s(self) -> float:
        return sum(self.kinds.values())

    @property
    def overhead_s(self) -> float:
        """Total seconds of this site's calls, without work that occurs only in a first call."""
        return sum(took for kind, took in self.kinds.items() if kind not in ONCE)


def sites_of(case: Case) -> list[Site]:
    found: dict[tuple[str, int, str], Site] = {}
    for (kind, stack, call, _), took in case.of.spent.items():
        if not stack:
            continue
        file, line = stack[-1]
        site = found.get((file, line, call))
        if site is None:
            counted = case.of.counted.get((file, line, call), (0, 0))
            site = found[file, line, call] = Site(file, line, call, loop_of(case, stack), *counted)
        site.kinds[kind] += took
    return sorted(found.values(), key=lambda site: -site.total_s)


def calls_of_models(case: Case) -> list[Site]:
    """Return the lines that call a model outside a tf.function, with the seconds of the ops in these calls.
    Calls that train the model are left out, because they belong to a training step.

    The ops of a subclassed model run on lines of the model's own code. Their time counts for the line of the
    outermost model call.
    """
    found: dict[Place, Site] = {}
    for (kind, stack, _, _), took in case.of.spent.items():
        calls = (n for n, at in enumerate(stack, 1) if (*at, "Model.__call__") in case.of.counted)
        if kind != "eager" or not (outermost := next(calls, 0)):
            continue
        if any(source.trains(case.sources, *each) for each in stack[:outermost]):
            continue
        at = stack[outermost - 1]
        if at not in found:
            count = case.of.counted[*at, "Model.__call__"]
            found[at] = Site(*at, "Model.__call__", loop_of(case, stack[:outermost]), *count)
        found[at].kinds["eager"] += took
    return list(found.values())


def line_s(sites: Sequence[Site], site: Site) -> float:
    """Return the seconds of a call site's whole line: the most that a single call for all rows could save."""
    rest = (each.overhead_s for each in sites if each.at == site.at and each.call not in METHODS)
    return sum(rest) + (site.overhead_s if site.call in METHODS else 0.0)


def loop_of(case: Case, stack: Sequence[Place]) -> Place:
    """Return the innermost loop around the stack's last line, or else around one of its callers."""
    for file, line in reversed(stack):
        if found := source.loop(case.sources, file, line):
            return file, found
    return "", 0


@dataclass(frozen=True)
class Steps:
    """The steps in one call of a Keras method: their number and total seconds."""

    n: float
    seconds: float


def steps_of_a_call(case: Case, sites: list[Site]) -> dict[str, Steps]:
    """Return the steps per call of each Keras method, if known."""
    methods = {site.at: site.call for site in sites if site.call in METHODS}
    steps: Counter[str] = Counter()
    spent: dict[str, float] = defaultdict(float)
    for number, function in case.of.functions.items():
        if not function.own and function.caller in methods and number in case.of.calls:
            steps[methods[function.caller]] += case.of.calls[number].n
            spent[methods[function.caller]] += case.of.calls[number].spent
    calls: Counter[str] = Counter()
    for site in sites:
        calls[site.call] += site.count
    return {m: Steps(steps[m] / calls[m], spent[m] / calls[m]) for m in steps if calls[m]}


@dataclass(frozen=True)
class Rebuilt:
    """A user line that rebuilds Keras objects in each iteration of a loop."""

    at: Place
    loop: Place
    times: int
    traces: int
    spent_s: float
    what: str


def rebuilt(case: Case, sites: list[Site]) -> Iterator[Rebuilt]:
    """Yield the lines that rebuild objects in at least `MANY_TRACES` iterations, with the seconds for all
    rebuilding after the first iteration.
    """
    groups: dict[Place, list[tuple[Place, int]]] = defaultdict(list)
    for number, function in case.of.functions.items():
        if function.own or not function.caller or "keras" not in function.file:
            continue
        if line := source.loop(case.sources, *function.caller):
            groups[function.caller[0], line].append((function.caller, number))
    for loop, rows in groups.items():
        made, traces, spent = Counter[Place](), 0, 0.0
        for caller, number in rows:
            made[caller] += 1
            took = [each for each, _ in case.of.traces.get(number, ())]
            traces += len(took)
            spent += sum(took) if made[caller] > 1 else sum(took[1:])
        for caller, number in rows:
            made[caller] = max(made[caller], case.of.made.get(number, 0))
        times = max(made.values())
        if times < MANY_TRACES:
            continue
        building = sum(site.kinds["building"] for site in sites if site.loop == loop)
        spent += building * (1 - 1 / times)
        written = source.calls_in_loop(case.sources, loop[0], loop[1], BUILDERS)
        at = next(iter(written.values()), made.most_common(1)[0][0])
        words = " and ".join(dict.fromkeys(BUILDERS[name] for name in written))
        yield Rebuilt(at, loop, times, traces, spent, words or "made")


BUILDERS = {
    "Sequential": "built",
    "Model": "built",
    "clone_model": "built",
    "load_model": "loaded",
    "compile": "compiled",
}
"""Past participle for a sentence, by the function that builds a model."""


def unexplained(case: Case, findings: Sequence[Bottleneck]) -> tuple[str, ...]:
    """Return sentences about large parts of the program's time that no finding covers: outside TensorFlow, or
    in ops in a loop outside of any tf.function.
    """
    explained = {each.at for each in findings}
    shown = OWN.keys() - ({"eager"} if any(each.code in EAGER for each in findings) else set())
    out = []
    for part in large_parts(case, shown, explained):
        where = f"{part.function}(), {'mostly ' * part.spread}line " if part.function else "line "
        where += str(part.at[1])
        share = percent(part.seconds / case.lasted_s)
        text = f"{seconds(part.seconds)} ({share} of the program) in {where} of {PurePath(part.at[0]).name}"
        graph = GRAPH if part.kind == "eager" and not effects(case.sources, *part.at) else ""
        out.append(f"{text}: {OWN[part.kind]}{graph}")
    return tuple(out)


class Part(NamedTuple):
    """Time that one function of the program, or one line outside of functions, spends in one kind of work.

    at: the line with the most time. spread: True if other lines have part of the time.
    """

    kind: str
    function: str
    at: Place
    seconds: float
    spread: bool


def large_parts(case: Case, kinds: Collection[str], explained: Collection[Place] = ()) -> list[Part]:
    """Return the large parts of the program's time of these kinds, largest first. Ops count only in loops.

    explained: lines to leave out.
    """
    parts: dict[tuple[str, str, str, int], dict[Place, float]] = defaultdict(lambda: defaultdict(float))
    for site in sites_of(case):
        for kind, took in site.kinds.items():
            if kind in kinds and site.at not in explained and (kind != "eager" or site.loop[1]):
                name = source.function_around(case.sources, *site.at)
                parts[kind, site.file, name, 0 if name else site.line][site.at] += took
    found = [
        Part(kind, name, max(lines, key=lambda at: lines[at]), float(sum(lines.values())), len(lines) > 1)
        for (kind, _, name, _), lines in parts.items()
    ]
    large = [part for part in found if part.seconds >= LARGE * case.lasted_s]
    return sorted(large, key=lambda part: -part.seconds)


def called(site: Site) -> str:
    """Return a sentence such as `predict() is called 120 times, 26.1 s, in the loop on line 9`."""
    times = f" {plural(site.count, 'time')}"
    text = f"{METHODS[site.call]}() is called{times}, {seconds(site.total_s)}"
    here = "" if site.loop[0] == site.file else f" of {PurePath(site.loop[0]).name}"
    return f"{text}, in the loop on line {site.loop[1]}{here}"
