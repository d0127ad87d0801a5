"""Summarizes each machine's results, and compares the machines."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from operator import attrgetter, itemgetter

import msgspec

from tuilab.analysis.compare import DISTURBED
from tuilab.analysis.confidence import SHORT
from tuilab.analysis.reading import estimate_at, family_of, measured, summary_point
from tuilab.analysis.sweeps import crossovers
from tuilab.analysis.verdicts import by_host, judge
from tuilab.analysis.words import first_few, size
from tuilab.model.arms import labels
from tuilab.model.claims import Claim
from tuilab.model.machine import Machine
from tuilab.model.machine_summary import Best, Crossed, MachineSummary
from tuilab.model.parameters import Value
from tuilab.model.run import ArmState, RunState
from tuilab.model.search import contains

_sorted = msgspec.json.Encoder(order="sorted").encode


def machine_summaries(state: RunState, claims: Sequence[Claim] = ()) -> tuple[MachineSummary, ...]:
    """Summarize each machine that measured an arm. A sweep is summarized at the size nearest to the
    scenario's own size.

    If several nodes share a sweep, only one of them measured that size. The crossover and the verdicts are
    attributed to that node only if it measured every size.
    """
    out = []
    for host, part in by_host(state).items():
        point = summary_point(part)
        node = part.where.get(point, "")
        machine = part.machines.get(node) if node else part.machine
        if machine is not None and measured(part, point):
            alone = len(set(part.where.values())) <= 1
            out.append(_machine_summary(part, machine, node or host, point, claims if alone else (), alone))
    return tuple(out)


def digest(claims: Sequence[Claim]) -> str:
    """Return a short hash of these claims. Only verdicts about the same claims are compared."""
    return hashlib.sha256("\n".join(c.text for c in claims).encode()).hexdigest()[:12] if claims else ""


def _machine_summary(
    state: RunState, machine: Machine, origin: str, point: int, claims: Sequence[Claim], alone: bool
) -> MachineSummary:
    assert state.scenario is not None
    place = state.point(point)
    return MachineSummary(
        run=state.run,
        at=state.at,
        preset=state.preset or state.scenario.workload,
        machine=machine.host,
        origin=origin,
        cpu=machine.cpu,
        gpus=machine.gpu_names,
        tensorflow=machine.tensorflow,
        python=machine.python,
        driver=machine.driver,
        budget=state.budget.name if state.budget else "",
        parameters=_sorted({**state.scenario.parameters, **(place.values if place else {})}).decode(),
        on_cpu=_best(state, point, "CPU"),
        on_gpu=_best(state, point, "GPU"),
        crossed=_crossed(state) if alone else None,
        claims=digest(claims),
        verdicts=tuple(judge(claim, state).verdict for claim in claims),
        disturbed=", ".join(SHORT[flag] for flag in DISTURBED if any(f.code == flag for f in state.flags)),
    )


def _best(state: RunState, point: int, kind: str) -> Best | None:
    for arm in measured(state, point):
        estimate = estimate_at(arm, point)
        if family_of(arm, point) == kind and not arm.arm.together and estimate is not None:
            return Best(_label(state, arm), estimate.median, estimate.low, estimate.high)
    return None


def _label(state: RunState, arm: ArmState) -> str:
    every = [other.arm for other in state.arms.values()]
    return dict(zip([a.id for a in every], labels(every), strict=True))[arm.arm.id]


def _crossed(state: RunState) -> Crossed | None:
    first = next(iter(crossovers(state)), None)
    if first is None or state.sweep is None:
        return None
    a, b = (_label(state, state.arms[name]) for name in (first.a, first.b))
    low, high = first.ci95 or (None, None)
    return Crossed(state.sweep.axes[0].parameter, a, b, first.status, first.at, low, high)


MOST_NAMED = 4
DECIDED = ("confirmed", "refuted")
Groups = dict[str, list[str]]
"""Each result, with the names of the machines that got this result."""


class Row(msgspec.Struct, frozen=True, gc=False):
    """One machine's row in the table of a preset. unlike: software versions that most other machines do not
    have.
    """

    summary: MachineSummary
    unlike: tuple[str, ...] = ()


class PresetRows(msgspec.Struct, frozen=True, kw_only=True):
    """One preset, with the same parameters on each machine.

    differing: parameters whose values differ from those in other tables of the preset. disagreements: one
    sentence for each disagreement between the machines.
    """

    preset: str
    differing: dict[str, Value]
    rows: tuple[Row, ...]
    disagreements: tuple[str, ...]


def compared(machine_summaries: Iterable[MachineSummary]) -> list[PresetRows]:
    """Return every preset with its machines, sorted by name. Compares only machines with equal parameters."""
    groups: dict[str, dict[str, list[MachineSummary]]] = {}
    for summary in machine_summaries:
        groups.setdefault(summary.preset, {}).setdefault(summary.parameters, []).append(summary)
    out = []
    for preset, by_parameters in sorted(groups.items()):
        values = {text: msgspec.json.decode(text, type=dict[str, Value]) for text in by_parameters}
        for text, own in sorted(by_parameters.items(), key=lambda item: -len(item[1])):
            own.sort(key=attrgetter("machine"))
            differing = _differing(values[text], list(values.values()))
            conflicts = tuple(disagreements(own))
            out.append(
                PresetRows(preset=preset, differing=differing, rows=_rows(own), disagreements=conflicts)
            )
    return out


def _differing(parameters: dict[str, Value], every: Sequence[dict[str, Value]]) -> dict[str, Value]:
    return {n: value for n, value in parameters.items() if any(other.get(n) != value for other in every)}


def _rows(machine_summaries: Sequence[MachineSummary]) -> tuple[Row, ...]:
    tensorflow = _most(s.tensorflow for s in machine_summaries)
    python = _most(s.python for s in machine_summaries)
    return tuple(Row(s, _unlike(s, tensorflow, python)) for s in machine_summaries)


def _unlike(summary: MachineSummary, tensorflow: str, python: str) -> tuple[str, ...]:
    pairs = (("TensorFlow", summary.tensorflow, tensorflow), ("Python", summary.python, python))
    return tuple(f"{word} {own}" for word, own, usual in pairs if own != usual)


def _most(values: Iterable[str]) -> str:
    """Return the most common value; of equally common values, the largest."""
    counted = Counter(values)
    return max(counted, key=lambda value: (counted[value], value))


def disagreements(machine_summaries: Sequence[MachineSummary]) -> list[str]:
    """Describe disagreements between machines that ran the same measurement: about the faster device, a
    verdict or a crossover.
    """
    out = []
    kinds = _groups((s.kind, s.machine) for s in machine_summaries if s.on_cpu and s.on_gpu)
    if len(kinds) > 1:
        out.append("the faster device: " + _named(kinds))
    for claims in sorted({s.claims for s in machine_summaries if s.claims}):
        own = [s for s in machine_summaries if s.claims == claims]
        for index in range(max(len(s.verdicts) for s in own)):
            given = [(s.verdicts[index], s.machine) for s in own if index < len(s.verdicts)]
            words = _groups((word, machine) for word, machine in given if word in DECIDED)
            if len(words) > 1:
                out.append(f"claim {index + 1}: " + _named(words))
    return out + _crossings(machine_summaries)


def _crossings(machine_summaries: Sequence[MachineSummary]) -> list[str]:
    """Describe crossovers whose intervals do not overlap, and crossovers that only some machines found."""
    known = [(s.crossed, s.machine) for s in machine_summaries if s.crossed and s.crossed.status != "unknown"]
    crossed = [
        (c.low or c.at, c.high or c.at, c.axis, f"{size(c.at)} on {machine}")
        for c, machine in known
        if c.at is not None
    ]
    if not crossed:
        return []
    if len(crossed) < len(known):
        groups = _groups(("found" if c.at is not None else "none", machine) for c, machine in known)
        return ["a crossover: " + _named(groups)]
    last_low, _, axis, end = max(crossed, key=itemgetter(0))
    _, first_high, _, start = min(crossed, key=itemgetter(1))
    return [f"the crossover along {axis}: from {start} to {end}"] if last_low > first_high else []


def _groups(pairs: Iterable[tuple[str, str]]) -> Groups:
    out: Groups = {}
    for answer, machine in pairs:
        out.setdefault(answer, []).append(machine)
    return out


def _named(groups: Groups) -> str:
    parts = []
    for answer, machines in sorted(groups.items(), key=lambda item: -len(item[1])):
        parts.append(f"{answer} on {first_few(machines, MOST_NAMED)}")
    return "; ".join(parts)


def text_of(summary: MachineSummary) -> str:
    words = [summary.preset, summary.machine, summary.origin, summary.cpu, *summary.gpus]
    words += [summary.tensorflow, summary.python, summary.driver, summary.kind, *summary.verdicts]
    best = summary.best
    return " ".join([*words, best.label if best else ""])


def search(
    machine_summaries: Sequence[MachineSummary], texts: Sequence[str], words: str
) -> list[MachineSummary]:
    """Return the summaries whose text contains each of the words. texts: the result of `text_of` for each
    summary.
    """
    return [s for s, text in zip(machine_summaries, texts, strict=True) if contains(text, words)]
