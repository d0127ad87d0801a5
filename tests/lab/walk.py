"""Random walks of a user through the lab, with everything that the lab shows after each step."""

import random
from collections.abc import Iterator

from tests.lab.test_state import Clock
from tests.made import machine
from tests.tui.scripted import Script
from tuilab.catalogue.load import Catalogue
from tuilab.lab.changes import Change
from tuilab.lab.settings import controls, default_sweep, flipped, representative, switches
from tuilab.lab.slider import Control, cell_of, fine_step, fraction, next_mark, next_stop, stops, value_at
from tuilab.lab.state import LabState, sizes_begun, sizes_to_measure
from tuilab.model import events as e
from tuilab.model.arms import labels
from tuilab.model.errors import InputError
from tuilab.model.machine import Device
from tuilab.model.parameters import Value
from tuilab.model.preset import Preset
from tuilab.model.scenario import BUDGETS

CELLS = 24
MACHINES = (
    machine(devices=(Device("CPU:0"),), no_gpu="no driver"),
    machine(devices=(Device("CPU:0"), Device("GPU:0", "NVIDIA L4"))),
    machine(devices=(Device("CPU:0"), Device("GPU:0", "NVIDIA L4"), Device("GPU:1", "NVIDIA L4"))),
)


def walk(preset: Preset, seed: int, steps: int = 14) -> Iterator[str]:
    """Yield the lines of a walk that begins with a preset. The same seed gives the same walk."""
    draw, numbers = random.Random(seed), iter(range(1, 1_000))
    clock = Clock()
    lab = LabState(clock=clock, new_id=lambda: f"run{next(numbers)}")
    lab.presets.load(Catalogue((preset,)))
    lab.choose(preset)
    before = list(_shown(lab))
    yield from before
    lab.apply(e.Ready(machine=draw.choice(MACHINES), import_s=2.0, start_s=0.1))
    for _ in range(steps):
        clock.now += draw.choice((0.1, 3.0))
        yield f"- {draw.choice((_slide, _slide, _switch, _undo, _budget, _run, _run))(lab, draw)}"
        after = list(_shown(lab))
        yield from (line for line in after if line not in before)
        before = after


def _slide(lab: LabState, draw: random.Random) -> str:
    assert lab.settings is not None
    control = draw.choice(controls(lab.settings, lab.machine, ["far"]))
    value = draw.choice(list(_moves(control, draw)))
    why = control.reach.why_not(value)
    value = control.reach.held(value, draw.choice((-1, 1)))
    try:
        changed = lab.change(lab.settings.at_stop(control.parameter.name, value, ["far"]))
    except InputError as error:
        return f"{control.parameter.name} = {value}: {error}"
    return f"{control.parameter.name} = {value} {why}" + " changes nothing" * (not changed)


def _moves(control: Control, draw: random.Random) -> Iterator[Value]:
    parameter, value = control.parameter, control.value
    for direction in (-1, 1):
        yield next_stop(parameter, value, direction, draw.randint(1, 3))
        yield fine_step(parameter, value, direction)
        if (mark := next_mark(parameter, control.marks, value, direction)) is not None:
            yield mark
    yield value_at(parameter, draw.randrange(CELLS), CELLS, control.marks)


def _switch(lab: LabState, draw: random.Random) -> str:
    assert lab.settings is not None
    switch = draw.choice(switches(lab.settings))
    try:
        lab.change(flipped(lab.settings, switch))
    except InputError as error:
        return f"switch {switch.key}: {error}"
    return f"switch {switch.group} {switch.key}: {switch.help}"


def _undo(lab: LabState, draw: random.Random) -> str:
    undo = draw.random() < 0.7
    return f"{'undo' if undo else 'redo'}: {lab.undo() if undo else lab.redo()}"


def _budget(lab: LabState, draw: random.Random) -> str:
    lab.budget = draw.choice(BUDGETS)
    return f"budget {lab.budget}"


def _run(lab: LabState, draw: random.Random) -> str:
    """Continue the run on the screen if possible; otherwise start a run, which may be a sweep. May apply only
    the first events of the run.
    """
    assert lab.settings is not None and lab.machine is not None
    if (further := lab.further()) is not None:
        lab.expect(further, lab.shown)
        script = Script(further, lab.machine, 4)
    else:
        sweep = default_sweep(lab.settings) if draw.random() < 0.4 else None
        asked = lab.request(sweep=sweep, slid=draw.random() < 0.2)
        script = Script(asked, lab.machine, draw.choice((3, 12)))
    batches, changes = list(script.batches()), list[Change]()
    clock = lab.clock
    assert isinstance(clock, Clock)
    for batch in batches[: draw.choice((2, len(batches), len(batches)))]:
        clock.now += 0.3
        changes += [lab.apply(event) for event in batch]
    counted = {change: changes.count(change) for change in dict.fromkeys(changes)}
    if lab.running and draw.random() < 0.6:
        lab.apply(e.Finished(run=lab.asked, status=draw.choice(("cancelled", "failed")), message="stopped"))
    return f"run {', '.join(f'{number} of {change!r}' for change, number in counted.items())}"


def _shown(lab: LabState) -> Iterator[str]:
    settings, shown = lab.settings, lab.shown
    assert settings is not None
    yield f"  {settings.title} | {settings.moved} | {lab.cost} | {lab.command(shown.sweep is not None)}"
    yield f"  arms: {', '.join(labels(settings.arms_on(lab.machine)))}; {', '.join(labels(representative(settings, lab.machine)))}"
    for control in controls(settings, lab.machine, ["far"], lab.crossover):
        yield f"  {_track(control)}"
    yield "  " + " ".join(f"{switch.label}{'+' if switch.on else '-'}" for switch in switches(settings))
    said = {
        name: getattr(lab, name)
        for name in (
            "running",
            "in_processes",
            "waiting",
            "held_s",
            "stale",
            "undecided",
            "point",
            "long",
            "verdicts",
        )
    }
    yield "  " + ", ".join(f"{name} {value!r}" for name, value in said.items() if value)
    if shown.run:
        result = lab.result()
        assert result is not None
        yield f"  {shown.run} {result.status}, {shown.rounds} rounds, {sizes_begun(shown)} of {len(sizes_to_measure(shown))} sizes, {len(lab.ghosts.under(shown))} ghosts"
        yield f"  {result.answer}"
    yield from (f"  {line.level}: {line.text}" for line in lab.log[-1:])


def _track(control: Control) -> str:
    parameter, value, reach = control.parameter, control.value, control.reach
    there = stops(parameter)
    limits = (
        ""
        if isinstance(value, str)
        else f"; {reach.low:,} to {reach.high:,}, {reach.below}, {reach.above}, {reach.between}"
    )
    ticks = f"{len(there)} stops {there[0]} … {there[-1]}"
    at = f"{100 * fraction(parameter, value):.2f}% cell {cell_of(parameter, value, CELLS)}"
    more = f"; {control.note} {control.marks} {control.crossover} {control.band}"
    return f"{parameter.name} {value} at {at}, {ticks}{limits}{more}"
