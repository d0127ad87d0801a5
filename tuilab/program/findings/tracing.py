"""Findings about functions that are traced or compiled repeatedly. Pure functions."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import chain, pairwise

from tuilab.analysis.words import listed
from tuilab.model.program import Bottleneck, Code
from tuilab.model.quantity import seconds
from tuilab.program import source
from tuilab.program.advice import TABLE
from tuilab.program.case import Case
from tuilab.program.findings.common import RETRACING, finding
from tuilab.program.sites import MANY_TRACES, rebuilt, sites_of

USED = 10
"""A library's tf.function counts as recreated if it is called at most this many times per creation. More
calls indicate several training runs.
"""
QUICK_FIRST = 0.6
"""A function's first trace in a fresh process takes at least this share of its time in the watched process.
Five pairs of runs gave 0.6 to 1.2.
"""
RARE = 0.1
"""Share of the changes below which a kind of change is not named."""


def _compiling(case: Case) -> Iterator[Bottleneck]:
    """Yield a finding for functions that XLA recompiles for new shapes without a retrace."""
    of = case.of
    for number, (n, took) in of.compiled.items():
        spent = took * (n - 2) / n
        if n < MANY_TRACES or spent < RETRACING * case.lasted_s:
            continue
        calls = of.calls[number]
        name = of.functions[number].name.rpartition(".")[2]
        each = f"{seconds(took / n)} each"
        usual = max(0.0, calls.spent + sum(t for t, _ in of.traces.get(number, ())) - took) / max(
            1, calls.n - n
        )
        if calls.n > n:
            each += f", {seconds(usual)} for a known shape"
        text = f"{name} was compiled by XLA {n} times for {n} shapes: {each}"
        yield finding(case, "xla-recompiles", case.function_at(number), text, spent_s=spent)


def tracing(case: Case) -> Iterator[Bottleneck]:
    """Yield a finding for functions that are repeatedly retraced or recompiled by XLA."""
    yield from _compiling(case)
    of = case.of
    first = min((calls.first for calls in of.calls.values() if calls.n), default=0.0)
    # End the period at the last call, because later time, such as the program's exit, is not spent on these
    # functions.
    total = max((calls.ends[-1] for calls in of.calls.values() if calls.n), default=0.0) - first
    if total <= 0:
        return
    groups: dict[tuple[str, int, str], list[int]] = defaultdict(list)
    for number, function in of.functions.items():
        groups[*case.function_at(number), function.name].append(number)
    anew = {found.loop for found in rebuilt(case, sites_of(case))}
    for (file, line, name), numbers in groups.items():
        if (file, source.loop(case.sources, file, line)) in anew and not of.functions[numbers[0]].own:
            continue  # the model is rebuilt, together with its functions
        traces = [trace for number in numbers for trace in of.traces.get(number, [])]
        if len(traces) < MANY_TRACES or not file:
            continue
        whole, spent = (sum(took for took, _ in some) for some in (traces, traces[2:]))
        share = min(1.0, spent / total)
        if share < RETRACING:
            continue
        # The first trace is always needed, but may be faster in another process. Each trace may also slow
        # down the steps that follow it.
        after = sum(of.calls[number].slower() for number in numbers if number in of.calls)
        first_at_most = (1 - QUICK_FIRST) * traces[0][0]
        most = min(1.0, (sum(took for took, _ in traces[1:]) + first_at_most + after) / total)
        xla = any(of.functions[number].xla for number in numbers)
        changes = differences(*([what for _, what in of.traces.get(number, [])] for number in numbers))
        differed = listed(changes)
        made = max(len(numbers), *(of.made.get(number, 0) for number in numbers))
        if made >= MANY_TRACES and len(traces) <= 2 * made:
            calls = sum(of.calls[number].n for number in numbers if number in of.calls)
            if calls > USED * made and not any(of.functions[number].own for number in numbers):
                continue  # several training runs compile their model once each
            differed, advice = "the tf.function was created again each time", "retraced, recreated"
        else:
            kind = "several changes" if len(changes) > 1 else differed
            advice = f"retraced, {kind}" if f"retraced, {kind}" in TABLE else "retraced"
            advice = "xla-recompiles" if xla and "a new shape" in changes else advice
        code: Code = "xla-recompiles" if xla else "retraced"
        verb = "compiled by XLA" if xla else "traced"
        text = f"{name.rpartition('.')[2]} was {verb} {len(traces)} times, which took "
        text += (
            f"{seconds(whole)}, {seconds(spent)} of it after the second {'compilation' if xla else 'trace'}"
        )
        text += f": {differed}" if differed else ""
        yield finding(
            case, code, (file, line), text, share, advice=advice, interval=(share, most), spent_s=spent
        )


def differences(*described: list[list[list[object]] | None]) -> list[str]:
    """Return the kinds of changes between the calls that caused traces, such as `a new shape`, the most
    frequent first. Omits rare changes.

    described: the calls of each function.
    """
    found: Counter[str] = Counter()
    for one, other in chain.from_iterable(map(pairwise, described)):
        changes = set()
        for a, b in zip(one or (), other or (), strict=False):
            if a == b:
                continue
            if a[0] == b[0] == "number":
                changes.add("a Python number")
            elif a[0] == b[0] == "tensor":
                changes.add("a new shape" if a[1] != b[1] else "a new dtype")
            else:
                changes.add("a new object")
        # A new object may reuse the id of a deleted one.
        if not changes and any(each[0] == "object" for each in one or ()):
            changes.add("a new object")
        found.update(sorted(changes))
    return [change for change, n in found.most_common() if n >= RARE * found.total()]
