"""Computes a run's result from its state: the fields of `tuilab run --json`."""

from collections.abc import Sequence

import msgspec

from tuilab.analysis.answer import answer
from tuilab.analysis.batch import batch_answer
from tuilab.analysis.bound import bounds
from tuilab.analysis.bound_words import sweep_bound
from tuilab.analysis.confidence import confidence
from tuilab.analysis.diagnosis import diagnose
from tuilab.analysis.environments import pairs
from tuilab.analysis.layers import with_layers
from tuilab.analysis.processes import doubt
from tuilab.analysis.ratios import RatioEstimate
from tuilab.analysis.reading import (
    VANISHED,
    account_at,
    arm_status,
    axes,
    beyond_peak,
    comparable,
    compare,
    device_of,
    does,
    elsewhere,
    estimate_at,
    family_of,
    has_gpu,
    latency_at,
    measured,
    nodes_at,
    summary_point,
    unfinished,
    value_at,
    vanished,
)
from tuilab.analysis.roofline_words import against_roof
from tuilab.analysis.summary_words import at_place, elsewhere_words, together_sentence, visiting_words
from tuilab.analysis.sweeps import are_comparable, crossovers
from tuilab.analysis.undisturbed import undisturbed
from tuilab.analysis.verdicts import by_host, verdicts
from tuilab.model.claims import Claim
from tuilab.model.datasheets import SHEETS, USUAL
from tuilab.model.events import Caveat, Fact, Point
from tuilab.model.machine import Machine
from tuilab.model.parameters import Value
from tuilab.model.result import (
    SCHEMA,
    ArmResult,
    CaveatLine,
    Contention,
    Crossover,
    MachineLine,
    PlacementRow,
    PointArm,
    PointResult,
    Ratio,
    RunResult,
    placement_row,
)
from tuilab.model.run import ArmState, RunState


def contention(state: RunState, point: int = 0) -> tuple[Contention, ...]:
    """Compare each arm's time alone with its time while other devices were busy.

    The two measurements share no rounds, so their rounds cannot be paired.
    """
    out = []
    for arm in state.arms.values():
        alone = state.arms.get(msgspec.structs.replace(arm.arm, together=False).id)
        if not arm.arm.together or alone is None:
            continue
        ratio = compare(arm, alone, point)
        if ratio is not None and ratio.interval is not None:
            out.append(_contention(arm, alone, ratio, ratio.interval, point))
    return tuple(out)


def _contention(
    arm: ArmState, alone: ArmState, ratio: RatioEstimate, interval: tuple[float, float], point: int
) -> Contention:
    with_others, by_itself = estimate_at(arm, point), estimate_at(alone, point)
    assert with_others is not None and by_itself is not None  # the ratio needs both times
    return Contention(
        arm=alone.arm.id,
        device=arm.arm.device,
        alone_s=by_itself.median,
        together_s=with_others.median,
        ratio=ratio.ratio,
        ci95=interval,
        sentence=together_sentence(arm, alone, ratio, point),
    )


def summarise(
    state: RunState, claims: Sequence[Claim] = (), *, placement: bool = True, against: str = ""
) -> RunResult:
    """Return everything known about a run, in progress or finished, with a verdict for each claim.

    A sweep's arms, ratios and placement are those at the point nearest to the scenario's own values.
    placement: False omits the placement rows, for a screen that reads them from the state. against:
    data-sheet name of the GPU whose bounds to compute; "" means the default GPU if the host has none. Raises
    ValueError if no run has started.
    """
    if state.scenario is None or state.machine is None:
        raise ValueError("no run has started, so there is nothing to summarize")
    point = summary_point(state)
    sheet = SHEETS.get(against or ("" if has_gpu(state) else USUAL))
    crossed = tuple(entry for part in by_host(state).values() for entry in crossovers(part))
    along = _points(state, crossed)
    return RunResult(
        schema=SCHEMA,
        preset=state.preset,
        scenario=state.scenario,
        machine=machine_line(state.machine),
        arms=tuple(_arm(state, arm, point) for arm in state.arms.values()),
        ratios=ratios(state, point),
        claims=verdicts(state, claims),
        placement=placement_of(state, point) if placement else (),
        answer=answer(state, crossed, against),
        budget=state.budget.name if state.budget else "",
        status=state.status or "running",
        message=state.message,
        run=state.run,
        at=state.at,
        elapsed_s=state.elapsed_s,
        rounds=state.rounds,
        flags=tuple(dict.fromkeys(CaveatLine(flag.code, flag.message) for flag in state.flags)),
        facts=_facts(state),
        diagnosis=tuple(entry for part in by_host(state).values() for entry in diagnose(part)),
        axis=axes(state),
        points=along,
        crossover=crossed[0] if crossed else None,
        crossovers=crossed,
        environments=pairs(state, point),
        contention=contention(state, point),
        confidence=confidence(state),
        bounds=bounds(state, point, sheet) if sheet else (),
        sweep_bound=sweep_bound(state, sheet) if sheet else None,
        model=with_layers(state, point),
        batch=batch_answer(state, along, crossed),
        roofs=tuple(state.roofs.values()),
        machines={host: machine_line(machine) for host, machine in state.machines.items()},
    )


def machine_line(machine: Machine) -> MachineLine:
    return MachineLine(
        host=machine.host,
        cpu=machine.cpu,
        gpus=machine.gpu_names,
        tensorflow=machine.tensorflow,
        python=machine.python,
        environment=machine.environment,
        settings=machine.settings,
    )


def _arm(state: RunState, arm: ArmState, point: int) -> ArmResult:
    status, reason = arm_status(state, arm, point)
    figure, cell = estimate_at(arm, point), arm.cells.get(point)
    whole = account_at(arm, point)
    return ArmResult(
        id=arm.arm.id,
        label=arm.label,
        requested_device=arm.arm.device,
        device=device_of(arm, point),
        mode=arm.arm.mode,
        dtype=arm.arm.dtype,
        input=arm.arm.input,
        variant=arm.arm.variant,
        host=arm.arm.host,
        status=status,
        reason=reason,
        median_s=figure.median if figure else None,
        examples_per_s=_examples(state, point) / figure.median
        if figure and _examples(state, point) and not vanished(state, arm, point)
        else None,
        ci95_s=figure.interval if figure else None,
        n=figure.n if figure else 0,
        latency_s=latency_at(arm, point),
        first_call_s=cell.first_s if cell else None,
        second_call_s=cell.second_s if cell else None,
        phases_s={part.phase: part.seconds for part in whole.parts} if whole else {},
        account=whole,
        flags=_flags(state, arm, point),
        roof=against_roof(state, arm, point),
        undisturbed=undisturbed(state, arm, point),
        does=does(arm, point),
    )


def _examples(state: RunState, point: int) -> int:
    """Return the examples per call of a model at that point; 0 if their number is fixed."""
    name = state.model.batch if state.model else ""
    return int(value_at(state, state.point(point) or Point(0), name)) if name else 0


def _flags(state: RunState, arm: ArmState, point: int) -> tuple[CaveatLine, ...]:
    lines = [CaveatLine(flag.code, _with_place(state, flag, point)) for flag in arm.flags]
    cell = arm.cells.get(point)
    if cell is not None and (caveat := doubt(cell)) is not None:
        lines.insert(0, CaveatLine(caveat.code, caveat.message))
    if (apart := undisturbed(state, arm, point)) is not None:
        lines.insert(0, CaveatLine("undisturbed", apart.sentence))
    if elsewhere(arm, point):
        lines.insert(0, CaveatLine("other-device", elsewhere_words(arm, point)))
    if visiting := visiting_words(arm, point):
        lines.insert(0, CaveatLine("other-device", visiting))
    if beyond := beyond_peak(state, arm, point):
        lines.insert(0, CaveatLine(VANISHED, beyond))
    return tuple(dict.fromkeys(lines))


def _with_place(state: RunState, flag: Caveat, point: int) -> str:
    """Return a caveat's message, with the caveat's point if the arm's figures are from another point."""
    place = state.point(flag.point) if flag.point is not None else None
    if place is None or flag.point == point or not axes(state):
        return flag.message
    return at_place(_values(state, place), flag.message)


def ratios(state: RunState, point: int) -> tuple[Ratio, ...]:
    """Return the ratio of each arm to the fastest arm that does the same work, and of each GPU arm to its CPU
    counterpart.

    Counterparts have the same mode, dtype and variant. Each pair appears once. Pairs with too wide an
    interval are omitted.
    """
    groups = comparable(state, point)
    pairs = [(arm, arms[0]) for arms in groups for arm in arms[1:]]
    for arms in groups:
        gpus = [arm for arm in arms if family_of(arm, point) == "GPU"]
        cpus = [arm for arm in arms if family_of(arm, point) == "CPU"]
        pairs += [(gpu, cpu) for gpu in gpus for cpu in cpus if are_comparable(gpu, cpu)]
    out: dict[frozenset[str], Ratio] = {}
    for a, b in pairs:
        key = frozenset((a.arm.id, b.arm.id))
        if key in out:
            continue
        found = compare(a, b, point)
        if found is not None and found.is_informative and (ratio := _ratio(a, b, found)) is not None:
            out[key] = ratio
    return tuple(out.values())


def _ratio(a: ArmState, b: ArmState, ratio: RatioEstimate | None) -> Ratio | None:
    if ratio is None or ratio.interval is None:
        return None
    return Ratio(a.arm.id, b.arm.id, ratio.ratio, ratio.interval, ratio.paired)


def placement_of(state: RunState, point: int) -> tuple[PlacementRow, ...]:
    arms = [(arm.arm.id, nodes_at(arm, point)) for arm in state.arms.values()]
    return tuple(placement_row(arm, node) for arm, nodes in arms for node in nodes)


def _values(state: RunState, point: Point) -> dict[str, Value]:
    return {**{axis: value_at(state, point, axis) for axis in axes(state)}, **point.values}


def _points(state: RunState, crossed: Sequence[Crossover]) -> tuple[PointResult, ...]:
    if state.sweep is None:
        return ()
    out = []
    cut = unfinished(state)
    compared = {frozenset((c.a, c.b)): (state.arms[c.a], state.arms[c.b]) for c in crossed}
    for point in state.points:
        timed = measured(state, point.index)
        rows = [
            _ratio(a, b, compare(a, b, point.index))
            for a, b in compared.values()
            if a in timed and b in timed
        ]
        arms = []
        for arm in state.arms.values():
            status, reason = arm_status(state, arm, point.index)
            figure = estimate_at(arm, point.index)
            arms.append(
                PointArm(
                    id=arm.arm.id,
                    median_s=figure.median if figure else None,
                    ci95_s=figure.interval if figure else None,
                    n=figure.n if figure else 0,
                    status=status,
                    reason=reason,
                )
            )
        where = state.where.get(point.index, "")
        known = tuple(row for row in rows if row is not None)
        out.append(PointResult(_values(state, point), tuple(arms), where, point.index not in cut, known))
    names = axes(state)
    return tuple(sorted(out, key=lambda p: tuple(_order(p.values[name]) for name in names)))


def _order(value: Value) -> tuple[float, str]:
    return (value, "") if isinstance(value, int) else (0.0, str(value))


def _facts(state: RunState) -> dict[str, Value | float]:
    """Return the run's observations other than time, by name.

    An observation of an arm has the key `arm:name`, or `arm:name@point` at a later point of a sweep.
    """
    return {_fact_name(fact): fact.value for fact in state.every_fact}


def _fact_name(fact: Fact) -> str:
    return (f"{fact.arm}:" if fact.arm else "") + fact.name + (f"@{fact.point}" if fact.point else "")
