"""Claims about what was observed beside time: placement, kernels, errors, facts."""

from collections.abc import Mapping, Sequence

from tuilab.analysis.matching import Finding, matching, missing, reason
from tuilab.analysis.operations import computes
from tuilab.analysis.reading import has_gpu, no_gpu_sentence, value_at
from tuilab.analysis.words import listed, on_axis, plural, size
from tuilab.model.arms import family
from tuilab.model.claims import FactIs, KernelFor, PlacedOn, Raises, SamePlacement
from tuilab.model.events import Fact, Node
from tuilab.model.run import ArmState, RunState


def short_device(name: str) -> str:
    """`/job:localhost/replica:0/task:0/device:GPU:0` → `GPU:0`."""
    return name.rpartition("device:")[2]


def placed_on(when: PlacedOn, state: RunState) -> Finding:
    """Whether every op of the type, in all arms of the pattern, ran on a device of the family.

    An op that the optimiser fused with its neighbours is still the op that does the work: `_FusedMatMul`
    is a `MatMul`.
    """
    if family(when.device) == "GPU" and not has_gpu(state):
        return "untestable", no_gpu_sentence(state)
    arms = matching(state, when.arms)
    observed = [node for arm in arms for nodes in arm.placement.values() for node in nodes]
    if not observed:
        ran = any(cell.samples for arm in arms for cell in arm.cells.values())
        return ("undecided", "The placement was not observed.") if ran else missing(state, when.arms)
    nodes = [node for node in observed if node.kind == "op" and when.op in (node.op, computes(node.op))]
    if not nodes:
        seen = listed(sorted({node.op for node in observed if node.kind == "op"})[:4], "or")
        return "untestable", f"No {when.op} ran, only ops such as {seen}."
    where: dict[str, int] = {}
    for node in nodes:
        device = short_device(node.device)
        where[device] = where.get(device, 0) + node.count
    total = sum(where.values())
    right = all(when.device in (device, family(device)) for device in where)
    places = listed([f"{number:,} on {device}" for device, number in sorted(where.items())])
    told = f"{plural(total, f'{when.op} op')} observed{_fused(when.op, nodes)}"
    return "confirmed" if right else "refuted", f"Of {told}, {places}."


def _fused(op: str, nodes: Sequence[Node]) -> str:
    """` (2 fused, as _FusedMatMul)`; without the number where all are; empty where none is."""
    others = [node for node in nodes if node.op != op]
    number = "" if len(others) == len(nodes) else f"{sum(node.count for node in others):,} "
    return f" ({number}fused, as {listed(sorted({node.op for node in others}))})" if others else ""


def same_placement(when: SamePlacement, state: RunState) -> Finding:
    """Whether each type of op keeps its devices at every point of the sweep, in every arm of the pattern.

    An op that the optimiser leaves out at some sizes has not moved.
    """
    arms = [arm for arm in matching(state, when.arms) if len(arm.placement) > 1]
    swept = state.sweep is not None and when.axis in {axis.parameter for axis in state.sweep.axes}
    if not swept:
        return "undecided", f"It takes a sweep along {when.axis.replace('_', ' ')}."
    if not arms:
        several = any(arm.placement for arm in matching(state, when.arms))
        text = "The placement was observed at one size only."
        return ("undecided", text) if several else missing(state, when.arms)
    for arm in arms:
        moved = _moved(state, when.axis, arm)
        if moved:
            return "refuted" if when.same else "confirmed", moved
    points = max((sorted(arm.placement) for arm in arms), key=len)
    sizes = sorted(int(value_at(state, p, when.axis)) for p in state.points if p.index in points)
    span = on_axis(when.axis, f"{size(sizes[0])} to {size(sizes[-1])}") if sizes else when.axis
    every = [n for arm in arms for nodes in arm.placement.values() for n in nodes if n.kind == "op"]
    devices = {short_device(node.device) for node in every if node.device}
    text = (
        f"At {plural(len(points), 'size')}, {span}, every op stayed where it was: {listed(sorted(devices))}."
    )
    if not has_gpu(state):
        text += " No other kind of device was there to move to."
    return "confirmed" if when.same else "refuted", text


def _moved(state: RunState, axis: str, arm: ArmState) -> str:
    """The first op that changes its device along the axis, in a sentence; empty where none does."""
    before: dict[str, tuple[set[str], str]] = {}
    for point in sorted(state.points, key=lambda p: str(value_at(state, p, axis)).zfill(20)):
        here = on_axis(axis, str(value_at(state, point, axis)))
        for op, devices in _devices(arm.placement.get(point.index, ())).items():
            earlier, where = before.setdefault(op, (devices, here))
            if earlier != devices:
                there, now = listed(sorted(earlier)), listed(sorted(devices))
                return f"{op} in {arm.label} ran on {there} at {where} and on {now} at {here}."
    return ""


def _devices(nodes: "list[Node] | tuple[Node, ...]") -> dict[str, set[str]]:
    out: dict[str, set[str]] = {}
    for node in nodes:
        if node.kind == "op":
            out.setdefault(computes(node.op), set()).add(short_device(node.device))
    return out


def kernel_for(when: KernelFor, state: RunState, registry: Mapping[str, frozenset[str]]) -> Finding:
    """Whether TensorFlow's kernel registry lists the kernel: no device is needed to know."""
    name = f"kernel:{when.op}:{when.dtype}:{when.device}"
    facts = [fact for fact in _all_facts(state) if fact.name == name]
    if facts:
        has = bool(facts[-1].value)
    elif when.op in registry:
        has = f"{when.dtype}:{when.device}" in registry[when.op]
    else:
        return "undecided", f"The kernel registry was not asked for {when.op} of {when.dtype}."
    version = f"TensorFlow {state.machine.tensorflow}" if state.machine else "This TensorFlow"
    verb = "has a" if has else "has no"
    text = f"{version} {verb} {when.device} kernel of {when.op} for {when.dtype}."
    return "confirmed" if has == when.exists else "refuted", text


def raises(when: Raises, state: RunState) -> Finding:
    """Whether every arm of the pattern that could run raised the error, or a kind of it, at some point."""
    wanted = when.error.rpartition(".")[2]
    arms = [arm for arm in matching(state, when.arms) if arm.status != "unavailable"]
    rows = []
    for arm in arms:
        errors = [arm.error] if arm.status == "failed" else []
        errors += [cell.error for cell in arm.cells.values() if cell.status == "failed"]
        ran = any(cell.samples for cell in arm.cells.values()) or arm.status == "ok"
        if errors or ran:
            rows.append((arm, [tuple(name.rpartition(".")[2] for name in error) for error in errors]))
    if not rows:
        return missing(state, when.arms)
    for arm, errors in rows:
        if not errors:
            return "refuted", f"{arm.label} ran and raised nothing."
        other = next((error for error in errors if wanted not in error), None)
        if other is not None:
            kinds = listed(other[1:], "and")
            of = f", a kind of {kinds}," if kinds else ""
            return "refuted", f"{arm.label} raised {other[0] if other else 'an error'}{of} not {wanted}."
    arm, errors = rows[0]
    named = errors[0][0]
    of = f", a kind of {wanted}" if named != wanted else ""
    why = reason(arm.reason or next((c.reason for c in arm.cells.values() if c.reason), ""))
    text = f"{listed([arm.label for arm, _ in rows][:3])} raised {named}{of}"
    return "confirmed", f"{text}: {why}." if why else f"{text}."


def fact_is(when: FactIs, state: RunState) -> Finding:
    """Whether every observation of the fact, in the arms of the pattern, has the value."""
    ids = {arm.arm.id for arm in matching(state, when.arms)}
    facts = [f for f in _all_facts(state) if f.name == when.fact and (f.arm in ids or not f.arm)]
    if not facts:
        found = missing(state, when.arms)
        told = found[0] == "untestable"
        return found if told else ("undecided", f"The run observed no {when.fact.replace('_', ' ')}.")
    wrong = [fact for fact in facts if not _holds(when, fact)]
    shown = (wrong or facts)[-1]
    text = reason(shown.text) or f"{when.fact.replace('_', ' ')} is {shown.value}"
    label = f"{state.arms[shown.arm].label}: " if shown.arm in state.arms and len(ids) > 1 else ""
    relation = {"is": "", "at-least": "at least ", "at-most": "at most "}[when.relation]
    # A fact that is true or false says so in its own sentence.
    said = isinstance(when.value, bool) and isinstance(shown.value, bool)
    said = said or (when.relation == "is" and not wrong)
    claimed = "" if said else f"; {relation}{when.value} was claimed"
    return "refuted" if wrong else "confirmed", f"{label}{text}{claimed}."


def _holds(when: FactIs, fact: Fact) -> bool:
    value, wanted = fact.value, when.value
    if when.relation == "is":
        return isinstance(value, bool) == isinstance(wanted, bool) and value == wanted
    if isinstance(value, str) or isinstance(wanted, str):
        return False
    return value >= wanted if when.relation == "at-least" else value <= wanted


def _all_facts(state: RunState) -> list[Fact]:
    return [*state.facts, *(fact for arm in state.arms.values() for fact in arm.facts)]
