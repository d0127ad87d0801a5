"""From a run to what each of its machines stands at."""

import hashlib
from collections.abc import Sequence

import msgspec

from tuilab.analysis.hosts import by_host
from tuilab.analysis.reading import estimate_at, family_of, measured, summary_point
from tuilab.analysis.sweeps import crossovers
from tuilab.analysis.verdict import judge
from tuilab.model.arms import labels
from tuilab.model.claims import Claim
from tuilab.model.machine import Machine
from tuilab.model.machine_summary import Best, Crossed, MachineSummary
from tuilab.model.run import ArmState, RunState

_sorted = msgspec.json.Encoder(order="sorted").encode


def machine_summaries(state: RunState, claims: Sequence[Claim] = ()) -> tuple[MachineSummary, ...]:
    """One for each machine that measured an arm. A sweep counts at the size nearest to the scenario's own.

    Of a fleet's sweep that size was measured by one node; a crossover and verdicts are that node's only where
    it measured every size.
    """
    out = []
    for host, part in by_host(state).items():
        point = summary_point(part)
        node = part.where.get(point, "")
        machine = part.machines.get(node) if node else part.machine
        if machine is not None and measured(part, point):
            alone = len(set(part.where.values())) <= 1
            out.append(_standing(part, machine, node or host, point, claims if alone else (), alone))
    return tuple(out)


def digest(claims: Sequence[Claim]) -> str:
    """A short name for these claims, so that verdicts are compared only on the same ones."""
    return hashlib.sha256("\n".join(c.text for c in claims).encode()).hexdigest()[:12] if claims else ""


def _standing(
    state: RunState, machine: Machine, origin: str, point: int, claims: Sequence[Claim], alone: bool
) -> MachineSummary:
    assert state.scenario is not None
    place = next((p.values for p in state.points if p.index == point), {})
    return MachineSummary(
        run=state.run,
        at=state.at,
        preset=state.preset or state.scenario.workload,
        machine=machine.host,
        origin=origin,
        cpu=machine.cpu,
        gpus=tuple(gpu.description or gpu.name for gpu in machine.gpus),
        tensorflow=machine.tensorflow,
        python=machine.python,
        driver=machine.driver,
        budget=state.budget.name if state.budget else "",
        parameters=_sorted({**state.scenario.parameters, **place}).decode(),
        on_cpu=_best(state, point, "CPU"),
        on_gpu=_best(state, point, "GPU"),
        crossed=_crossed(state) if alone else None,
        claims=digest(claims),
        verdicts=tuple(judge(claim, state).verdict for claim in claims),
    )


def _best(state: RunState, point: int, kind: str) -> Best | None:
    for arm in measured(state, point):
        found = estimate_at(arm, point)
        if family_of(arm, point) == kind and not arm.arm.together and found is not None:
            return Best(_label(state, arm), found.median, found.low, found.high)
    return None


def _label(state: RunState, arm: ArmState) -> str:
    """Its label among its own machine's arms, without the host's name."""
    every = [other.arm for other in state.arms.values()]
    return dict(zip([a.id for a in every], labels(every), strict=True))[arm.arm.id]


def _crossed(state: RunState) -> Crossed | None:
    found = next(iter(crossovers(state)), None)
    if found is None or state.sweep is None:
        return None
    a, b = (_label(state, state.arms[name]) for name in (found.a, found.b))
    low, high = found.ci95 or (None, None)
    return Crossed(state.sweep.axes[0].parameter, a, b, found.status, found.at, low, high)
