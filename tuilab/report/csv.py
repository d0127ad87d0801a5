"""A run's samples as CSV: one row a block, every number at full precision."""

import csv
import io

from tuilab.model.run import RunState

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def samples(state: RunState) -> str:
    """Rows of run, arm, what the arm is, the point's parameters, round, calls, seconds per call."""
    axes = sorted({name for point in state.points for name in point.values})
    values = {point.index: point.values for point in state.points}
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    what = ["device", "mode", "input", "dtype", "variant"]
    writer.writerow(["run", "arm", "observed_device", *what, *axes, "round", "calls", "seconds_per_call"])
    for arm in state.arms.values():
        about = [state.run, arm.arm.id, arm.device or "", *(getattr(arm.arm, name) for name in what)]
        for point, cell in sorted(arm.cells.items()):
            place = [values.get(point, {}).get(name, "") for name in axes]
            for number, calls, sample in zip(cell.rounds, cell.calls, cell.samples, strict=True):
                writer.writerow([*(safe(v) for v in [*about, *place]), number, calls, repr(sample)])
    return out.getvalue()


def safe(value: object) -> object:
    """Text that a spreadsheet would take for a formula gets a quote before it."""
    return "'" + value if isinstance(value, str) and value.startswith(_FORMULA) else value
