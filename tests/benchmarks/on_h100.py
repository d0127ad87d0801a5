"""Compares bounds with the times of our own functions on a real H100 (`h100.json`).

python -m tests.benchmarks.on_h100            prints the table for docs/gpu-bounds.md
python -m tests.benchmarks.on_h100 FOLDER     reads the times and limits from the recordings of a GPU day

The work is counted here, in each function's graph. The launch cost was measured on the GPU's host.
"""

import statistics
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from tests.benchmarks.functions import CASES, FILE, Asked
from tuilab.analysis.bound import GpuCall
from tuilab.model.arms import Arm, family
from tuilab.model.datasheets import SHEETS
from tuilab.model.quantity import seconds
from tuilab.model.roofline import DeviceRoofs, GpuBound, Work

TIMES = Path(__file__).with_name("h100.json")
GRAPHS = [asked for asked in CASES if not asked.refused]


class Recorded(msgspec.Struct, frozen=True):
    """The figures in `h100.json`.

    host: hardware limits of the machine's processor. cores: the processor's number of cores. took_s: seconds
    of a graph call by function and input.
    """

    gpu: str
    tensorflow: str
    driver: str
    cores: int
    host: DeviceRoofs
    took_s: dict[str, dict[str, float]]


@dataclass(frozen=True)
class Row:
    """A function on the GPU. calls: for each input location, the lower bound of a call's time and the
    measured time, in seconds.
    """

    name: str
    calls: dict[str, tuple[GpuBound, float]]

    def factors(self) -> dict[str, float]:
        return {kind: took_s / bound.seconds for kind, (bound, took_s) in self.calls.items()}


def recorded() -> Recorded:
    return msgspec.json.decode(TIMES.read_bytes(), type=Recorded)


def read(folder: Path) -> Recorded:
    """Return the times and limits in the recordings of a GPU day, from its steps `own` and `machine`."""
    from tests.conftest import fold
    from tuilab.analysis.reading import estimate_at
    from tuilab.history import recording

    limits = next(iter(sorted(folder.rglob("machine.out"))))
    host = msgspec.json.decode(limits.read_bytes())["roofs"]["devices"]["CPU:0"]
    took_s: dict[str, dict[str, float]] = {}
    for asked in GRAPHS:
        name = "".join(c if c.isalnum() else "-" for c in asked.name.lower())
        state = fold(recording.read(next(iter(folder.rglob(f"own-{name}.jsonl")))))
        for arm in state.arms.values():
            timed = estimate_at(arm, 0)
            if family(arm.device or "") == "GPU" and timed is not None:
                took_s.setdefault(asked.name, {})[arm.arm.input] = timed.median
    machine = state.machine
    assert machine is not None
    gpu = machine.gpus[0].description
    return Recorded(
        gpu,
        machine.tensorflow,
        machine.driver or "",
        machine.cores,
        msgspec.convert(host, DeviceRoofs),
        took_s,
    )


def work_of(asked: Asked) -> Work:
    import tensorflow as tf

    from tuilab.model.parameters import check_values
    from tuilab.model.scenario import Opening
    from tuilab.model.shapes import checked, parse
    from tuilab.worker.build import ArmBuild
    from tuilab.worker.context import Context
    from tuilab.worker.measure.observed import of_call
    from tuilab.worker.measure.work import work_of as work
    from tuilab.worker.user import load

    context = Context(_Silent())  # type: ignore[arg-type]
    context.tf = tf
    opening = Opening(inputs=checked([parse(each) for each in asked.shapes]))
    workload = load(f"{FILE}:{asked.name}", opening)
    values = check_values(workload.declaration.parameters, workload.declaration.constraints, {})
    case = workload.build(ArmBuild(context, "", Arm("CPU:0", "graph", "resident"), values))
    assert case.function is not None
    return work(of_call(case.function.get_concrete_function(*case.arguments), case.arguments))  # type: ignore[attr-defined]


class _Silent:
    def send(self, *events: Any) -> None: ...


def rows(cases: Iterable[Asked] = GRAPHS) -> Iterator[Row]:
    found = recorded()
    for asked in cases:
        if times := found.took_s.get(asked.name):
            work = work_of(asked)
            kernels = round(work.kernels or 1)
            calls = {
                k: GpuCall(work, found.host, "graph", k == "copied", 1, kernels, found.cores) for k in times
            }
            yield Row(asked.name, {k: (call.on(SHEETS["h100"]), times[k]) for k, call in calls.items()})


def main() -> None:
    if len(sys.argv) > 1:
        TIMES.write_bytes(msgspec.json.format(msgspec.json.encode(read(Path(sys.argv[1])))) + b"\n")
        return
    print("| function | bound | resident | resident / bound | bound | copied | copied / bound |")
    print("|---|---|---|---|---|---|---|")
    every = list(rows())
    for row in every:
        cells = [
            f"{seconds(bound.seconds)} | {seconds(took_s)} | {took_s / bound.seconds:.1f}"
            for bound, took_s in (row.calls["resident"], row.calls["copied"])
        ]
        print(f"| {row.name} | {' | '.join(cells)} |")
    factors = [factor for row in every for factor in row.factors().values()]
    middle = statistics.median(factors)
    print(f"\nfrom {min(factors):.1f} to {max(factors):.0f}, median {middle:.1f}", file=sys.stderr)


if __name__ == "__main__":
    main()
