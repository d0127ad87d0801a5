"""Compares the machine's roofs with hand-written STREAM and BLAS, and every preset with its roofs.

python -m tests.benchmarks --only roofs --only bounds
python -m tests.benchmarks.roofs --write    # writes a table of every preset at three sizes

`roofs` compares tuilab's measurements with the STREAM triad in C (which needs a compiler), and with products
of 2,048 × 2,048 matrices in NumPy and TensorFlow. The best of several tries counts. The tries alternate with
tuilab's own, so that a busy machine affects both. `bounds` checks that no arm of any preset takes less than
its bound, at a quarter of the preset's size, at its size and at four times its size.
"""

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tests.benchmarks.budget import Row
from tests.benchmarks.written import show
from tests.conftest import Worker, fold
from tuilab import catalogue
from tuilab.analysis.reading import estimate_at, measured, value_at
from tuilab.analysis.roofline import arm_floor, better
from tuilab.analysis.roofline_words import against_roof
from tuilab.lab.settings import Settings
from tuilab.model.errors import InputError
from tuilab.model.expand import expand
from tuilab.model.parameters import Integer, LogInteger, check_values
from tuilab.model.quantity import rate, seconds, share_words
from tuilab.model.requests import Measure
from tuilab.model.roofline import AskRoofs, Roofs
from tuilab.model.run import RunState
from tuilab.model.scenario import BUDGET, Axis, Sweep
from tuilab.paths import shipped_folder
from tuilab.workloads import find

AGREE, TURNS, ARRAY = 0.10, 8, 16 * 2**20
SIZES = (1 / 4, 1, 4)

TRIAD = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static double *a, *b, *c; static long n; static int threads, tries;
static pthread_barrier_t gate;
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + 1e-9 * t.tv_nsec; }
static double from_s[256], to_s[256];
static void *work(void *x) {
  long me = (long)x, from = n * me / threads, to = n * (me + 1) / threads;
  for (long i = from; i < to; i++) { a[i] = 0; b[i] = 1; c[i] = 2; }
  for (int k = 0; k < tries; k++) {
    pthread_barrier_wait(&gate);
    from_s[me] = now();
    double *restrict p = a; const double *restrict q = b, *restrict r = c;
    long part = (to - from) / 4, low = from + k % 4 * part;
    for (long i = low; i < low + part; i++) p[i] = q[i] + 3.0 * r[i];
    to_s[me] = now();
    pthread_barrier_wait(&gate);
  }
  return 0;
}
int main(int argc, char **argv) {
  n = atol(argv[1]); threads = atoi(argv[2]); tries = atoi(argv[3]);
  a = malloc(8 * n); b = malloc(8 * n); c = malloc(8 * n);
  pthread_t t[256]; pthread_barrier_init(&gate, 0, threads + 1);
  for (long i = 0; i < threads; i++) pthread_create(&t[i], 0, work, (void *)i);
  double best = 1e9;
  for (int k = 0; k < tries; k++) {
    pthread_barrier_wait(&gate); pthread_barrier_wait(&gate);
    double first = from_s[0], last = to_s[0];
    for (int i = 1; i < threads; i++) {
      if (from_s[i] < first) first = from_s[i];
      if (to_s[i] > last) last = to_s[i];
    }
    if (last - first < best) best = last - first;
  }
  printf("%.6e\n", 6.0 * n / best);
  return 0;
}
"""

BLAS = """
import sys, time, numpy as np
kind = sys.argv[1]; x = np.random.rand(2048, 2048).astype(kind); best = 0.0; x @ x
end = time.perf_counter() + 1.0
while time.perf_counter() < end:
    t = time.perf_counter(); x @ x; best = max(best, 2 * 2048**3 / (time.perf_counter() - t))
print(best)
"""


def measure() -> list[Row]:
    """Measure the triad and the matrix products, alternating between tuilab and hand-written code; return
    rows with the best results.
    """
    worker = Worker(cpus=1)
    ours: Roofs | None = None
    triad = products = 0.0
    double = 0.0
    try:
        with tempfile.TemporaryDirectory() as folder:
            built = _compiled(Path(folder))
            for _ in range(TURNS):
                ours = better(ours, _roofs(worker, 3.0))
                if built:
                    triad = max(triad, _figure([str(built), str(ARRAY), str(_cores()), "160"]))
                products = max(products, _blas("float32"))
                double = max(double, _blas("float64"))
    finally:
        worker.close()
    found = ours.devices["CPU:0"]
    rows = [
        _row("triad / STREAM's in C", found.triad, triad, "B/s", low=True),
        _row("float32 peak / NumPy's BLAS", found.peaks["float32"], products, "FLOP/s", low=False),
        _row("float64 peak / NumPy's BLAS", found.peaks["float64"], double, "FLOP/s", low=False),
    ]
    took = Row(
        "roofs, measured in", "≤ 6 s", f"{ours.seconds:.1f} s", None, "`tuilab machine`", ours.seconds, 6.0
    )
    return [*rows, took]


def _row(name: str, ours: float, theirs: float, unit: str, *, low: bool) -> Row:
    """Return a row of the table.

    The budget is met if both figures agree within 10%. For matrix products, `ours` may be higher than
    `theirs`, because a roof is a maximum.
    """
    if not theirs:
        return Row(name, "± 10%", f"{rate(ours, unit)}; no C compiler is here", None, "")
    ratio = ours / theirs
    met = ratio >= 1 - AGREE and (ratio <= 1 + AGREE or not low)
    limit = "± 10%" if low else "≥ 0.9×"
    shown = f"{rate(ours, unit)} against {rate(theirs, unit)}, {ratio:.2f}×"
    return Row(name, limit, shown, met, f"best of {TURNS} turns of each, taken in turn", ratio, 1.0)


def _roofs(worker: Worker, time_s: float) -> Roofs:
    return msgspec.json.decode(worker.ask("roofs", AskRoofs(seconds=time_s))[0].body, type=Roofs)


def _compiled(folder: Path) -> Path | None:
    source, built = folder / "triad.c", folder / "triad"
    source.write_text(TRIAD)
    try:
        command = ["cc", "-O3", "-march=native", "-pthread", "-o", str(built), str(source)]
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return built


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def _blas(kind: str) -> float:
    import sys

    return _figure([sys.executable, "-c", BLAS, kind])


def _figure(command: list[str]) -> float:
    return float(subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout)


@dataclass(frozen=True)
class Held:
    preset: str
    size: str
    arm: str
    achieved: str
    roof: str
    share: float | None
    bound_by: str
    bound_s: float
    median_s: float
    high_s: float

    @property
    def beyond(self) -> bool:
        """True if the bound exceeds the arm's time by more than the arm's interval."""
        return self.bound_s > self.high_s


def every(worker: Worker, roofs: Roofs, names: tuple[str, ...] = ()) -> Iterator[Held]:
    for preset in catalogue.load(shipped_folder()).presets:
        if names and preset.name not in names:
            continue
        declaration = find(preset.workload).declaration
        own = Settings.of(preset).scenario
        arms = [a for a in expand(preset.arms, declaration, own.parameters) if a.device == "CPU:0"]
        sweep = _sweep(declaration, own.parameters)
        if not arms or sweep is None:
            continue
        request = Measure(
            id=f"{preset.name}-{time.monotonic_ns()}",
            scenario=own,
            arms=tuple(arms),
            budget=msgspec.structs.replace(BUDGET["quick"], limit_s=1.5, chase_s=0.5, warm_limit_s=0.5),
            sweep=sweep,
            preset=preset.name,
            phases=False,
            roofs=(roofs,),
        )
        yield from held(preset.name, fold(worker.measure(request)))


def _sweep(declaration, values) -> Sweep | None:
    """Return a sweep of the workload's axis, or of the batch if there is no axis. The sizes are the current
    value times the factors in SIZES, without those that the constraints forbid. Returns None if the parameter
    is not an integer.
    """
    parameter = declaration.parameter(declaration.axis if values.get(declaration.axis) else "batch")
    if not isinstance(parameter, Integer | LogInteger):
        return None
    own, sizes = int(values[parameter.name]), []
    for share in SIZES:
        wanted = min(parameter.high, max(parameter.low, round(own * share)))
        try:
            check_values(declaration.parameters, declaration.constraints, {**values, parameter.name: wanted})
        except InputError:
            continue
        sizes.append(wanted)
    sizes = sorted({*sizes})
    return Sweep(axes=(Axis(parameter.name, tuple(sizes)),), refine=False)


def held(preset: str, state: RunState) -> Iterator[Held]:
    axis = state.sweep.axes[0].parameter
    for point in sorted(state.points, key=lambda p: value_at(state, p, axis)):
        for arm in measured(state, point.index):
            roof, least = against_roof(state, arm, point.index), arm_floor(state, arm, point.index)
            timed = estimate_at(arm, point.index)
            if roof is None or least is None or timed is None:
                continue
            done = rate(roof.flop_per_s, "FLOP/s") if roof.flop_per_s else ""
            moved = rate(roof.bytes_per_s, "B/s") if roof.bytes_per_s else ""
            yield Held(
                preset=preset,
                size=f"{axis} {value_at(state, point, axis)}",
                arm=arm.label,
                achieved=", ".join(filter(None, (done, moved))) or "not known",
                roof=roof.roof or "not known",
                share=roof.share,
                bound_by=roof.bound_by,
                bound_s=least.total_s,
                median_s=timed.median,
                high_s=max(timed.interval[1] if timed.interval else timed.median, timed.median),
            )


def all_held() -> tuple[list[Held], Roofs]:
    """Return the arms of every preset, and the roofs."""
    worker = Worker(cpus=1)
    try:
        roofs = better(_roofs(worker, 4.0), _roofs(worker, 4.0))
        found = list(every(worker, roofs))
        for _ in range(3):
            wrong = {each.preset for each in found if each.beyond}
            if not wrong:
                break
            roofs = better(roofs, _roofs(worker, 4.0))
            found = [each for each in found if each.preset not in wrong]
            found += list(every(worker, roofs, tuple(sorted(wrong))))
    finally:
        worker.close()
    return found, roofs


def bounds() -> list[Row]:
    found, _ = all_held()
    beyond = [each for each in found if each.beyond]
    named = "".join(
        f"; {b.preset} {b.size} {b.arm}: {seconds(b.median_s)} < {seconds(b.bound_s)}" for b in beyond
    )
    shown = f"{len(beyond)} of {len(found)}{named}"
    return [
        Row(
            "arms beyond their bound",
            "0",
            shown,
            not beyond,
            "every preset, CPU arms, three sizes",
            len(beyond),
            0,
        )
    ]


def table(found: list[Held]) -> str:
    lines = [
        "| preset | size | arm | achieved | roof | of the roof | bound | measured | bound by |",
        "|" + "---|" * 9,
    ]
    for each in found:
        share = share_words(each.share) if each.share is not None else "–"
        lines.append(
            f"| {each.preset} | {each.size} | {each.arm} | {each.achieved} | {each.roof} | {share} "
            f"| {seconds(each.bound_s)} | {seconds(each.median_s)} | {each.bound_by} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    rows, machine = all_held()
    order = {preset.name: index for index, preset in enumerate(catalogue.load().presets)}
    rows.sort(key=lambda each: order[each.preset])
    beyond = sum(each.beyond for each in rows)
    text = f"{len(rows)} arms, {beyond} beyond their bound.\n\n{table(rows)}"
    show(text, "Every preset against its machine's roofs", __file__, __doc__)
