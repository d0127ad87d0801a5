"""The medians and 95 % quantiles of a run with the screen attached against the same run without it."""

import os
import tempfile

from tests.benchmarks.budget import Row
from tests.benchmarks.disturbance import Shared, middle_of, pairs

PAIRS = int(os.environ.get("TUILAB_BENCH_PAIRS", "40"))
FIGURES = (("medians", 0.01), ("95 % quantiles", 0.05))
HOW = "quick runs of one request on one worker with the screen and without, in turn; the arm that is off by most"


def measure() -> list[Row]:
    """The arm that is off by most, by either figure, with its interval."""
    with tempfile.TemporaryDirectory() as folder:
        shared = Shared(folder)
        try:
            logs = pairs(shared, PAIRS)
        finally:
            shared.close()
    rows = []
    for index, (name, limit) in enumerate(FIGURES):
        found = {arm: middle_of([pair[index] for pair in some]) for arm, some in logs.items()}
        ratio, low, high = max(found.values(), key=lambda r: abs(r[0] - 1))
        shown = f"{ratio:.3f} [{low:.3f} {high:.3f}]"
        limits = f"1 ± {limit:.0%}"
        met = abs(ratio - 1) <= limit
        rows.append(
            Row(
                f"disturbance, {name}", limits, shown, met, HOW, ratio, limit, {"arms": found, "pairs": PAIRS}
            )
        )
    return rows
