import subprocess
import sys
from pathlib import Path

from tuilab.analysis.statistics import LONGEST, remembered

SUM_UP = """
import sys
from tests.made import GPU_GRAPH, GRAPH
from tests.analysis.made_runs import SIZES, begun, measure
from tuilab.analysis.summary import summarise
from tuilab.analysis.diagnosis import diagnose
state = measure(begun([GRAPH, GPU_GRAPH], sizes=SIZES), {GRAPH: 1e-3, GPU_GRAPH: 2e-3}, rounds=60)
summarise(state), diagnose(state)
print(*sorted({"numpy", "tensorflow", "textual"} & set(sys.modules)))
"""


def test_results_for_equal_samples_are_cached_unless_they_are_long() -> None:
    seen: list[int] = []

    @remembered
    def length(samples: tuple[float, ...], scale: float = 1.0) -> float:
        seen.append(len(samples))
        return len(samples) * scale

    assert length((1.0, 2.0)) == length((1.0, 2.0)) == 2
    assert length((1.0, 2.0), 3.0) == 6
    assert seen == [2, 2]
    long = (1.0,) * (LONGEST + 1)
    assert length(long) == length(long) == LONGEST + 1
    assert seen == [2, 2, LONGEST + 1, LONGEST + 1]


def test_summing_up_a_run_loads_no_numpy() -> None:
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-c", SUM_UP], capture_output=True, text=True, timeout=60, check=True, cwd=root
    )
    assert done.stdout.strip() == ""
