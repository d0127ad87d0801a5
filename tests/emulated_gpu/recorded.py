"""Records runs with an emulated GPU for pictures: `python -m tests.emulated_gpu.recorded`.

`run.jsonl` is a run of the preset stft-small. `sweep.jsonl` is a sweep, with a crossover, of the op with a
known speed (paced.py).
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from tuilab.history import recording
from tuilab.model.events import Event, Progress
from tuilab.model.requests import Measure
from tuilab.model.scenario import Axis, Scenario, Sweep

RECORDINGS = Path(__file__).parent / "recordings"
PACED = f"{Path(__file__).with_name('paced.py')}:paced"


def events_of(name: str) -> Iterator[Event]:
    return (event for event in recording.read(RECORDINGS / f"{name}.jsonl") if getattr(event, "run", ""))


def anonymous(event: Event) -> Event:
    """Return the event without the names of the host and of the file's folder."""
    if (machine := getattr(event, "machine", None)) is not None:
        machine = msgspec.structs.replace(machine, host="emulated-host", cpu="a processor", tuilab="0.2.0")
        event = msgspec.structs.replace(event, machine=machine)  # type: ignore[type-var]
    if (scenario := getattr(event, "scenario", None)) is not None and scenario.file:
        scenario = msgspec.structs.replace(scenario, file="paced.py:paced")
        event = msgspec.structs.replace(event, scenario=scenario)  # type: ignore[type-var]
    return event


def main() -> None:
    from tests.conftest import Worker
    from tests.emulated_gpu.build import environment
    from tuilab import catalogue
    from tuilab.lab.settings import Settings
    from tuilab.model.expand import expand
    from tuilab.model.scenario import Budget
    from tuilab.workloads import find

    budget = Budget(name="quick", warm_s=0.05, warm_limit_s=0.1, precision=0.05, rounds=20, limit_s=4.0)
    worker = Worker(cpus=1, environment=environment(1, kernel_us=500, pace_ns=2.5))
    preset = next(each for each in catalogue.load().presets if each.name == "stft-small")
    values = Settings.of(preset).scenario
    devices = [device.name for device in worker.machine.devices]
    arms = expand(preset.arms, find(preset.workload).declaration, values.parameters, devices)
    run = Measure(id="run", scenario=values, arms=arms, budget=budget, preset=preset.name)
    resident = tuple(arm for arm in arms if arm.mode == "graph" and arm.input == "resident")[:2]
    axis = Axis("elements", (20_000, 60_000, 180_000, 540_000))
    sweep = Measure(
        id="sweep",
        scenario=Scenario("paced", {}, PACED),
        arms=tuple(msgspec.structs.replace(arm, dtype="", variant="") for arm in resident),
        budget=budget,
        preset="paced",
        sweep=Sweep(axes=(axis,)),
    )
    for request in (run, sweep):
        seen = [anonymous(event) for event in worker.measure(request) if not isinstance(event, Progress)]
        recording.write(RECORDINGS / f"{request.id}.jsonl", seen)
    worker.close()


if __name__ == "__main__":
    main()
