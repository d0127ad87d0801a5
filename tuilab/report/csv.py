"""The samples of a run as CSV: one row per block, with numbers at full precision."""

import csv
import io
from collections.abc import Iterator, Sequence
from itertools import islice

from tuilab.analysis.reading import machine_of
from tuilab.model.run import RunState
from tuilab.model.verdicts import EMULATED

AT_ONCE = 20_000
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def samples(state: RunState) -> str:
    return "".join(rows(state))


def rows(state: RunState) -> Iterator[str]:
    """Yield the CSV text in chunks. Columns: run, arm, work, the point's parameters, round, calls, seconds
    per call.
    """
    axes = sorted({name for point in state.points for name in point.values})
    values = {point.index: point.values for point in state.points}
    what = ["device", "mode", "input", "dtype", "variant"]
    names = ["run", "arm", "observed_device", *what, *axes, "round", "calls", "seconds_per_call"]
    yield _line([safe(name) for name in names]) + "\n"
    for arm in state.arms.values():
        machine = machine_of(state, arm)
        soft = f" {EMULATED}" if machine is not None and machine.emulated and arm.device != "CPU:0" else ""
        about = [
            state.run,
            arm.arm.id,
            f"{arm.device or ''}{soft}".strip(),
            *(getattr(arm.arm, name) for name in what),
        ]
        for point, cell in sorted(arm.cells.items()):
            place = [values.get(point, {}).get(name, "") for name in axes]
            before = _line([safe(value) for value in [*about, *place]])
            figures = zip(cell.rounds, cell.calls, cell.samples, strict=True)
            while some := list(islice(figures, AT_ONCE)):
                yield "".join([f"{before},{number},{calls},{sample!r}\n" for number, calls, sample in some])


def _line(values: Sequence[object]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow(values)
    return out.getvalue()


def safe(value: object) -> object:
    return "'" + value if isinstance(value, str) and value.startswith(_FORMULA) else value
