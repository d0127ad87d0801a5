import math
import random

import msgspec
import pytest

from tests.analysis.made_runs import SIZES, begun, finish, machine, measure
from tests.made import GPU_GRAPH, GRAPH
from tuilab.analysis.processes import log_mean
from tuilab.analysis.ratios import logs, unpaired
from tuilab.analysis.reading import missing
from tuilab.analysis.statistics import locate
from tuilab.analysis.summary import summarise
from tuilab.analysis.verdicts import by_host
from tuilab.model import events as e
from tuilab.model.arms import Arm, ArmPattern
from tuilab.model.claims import Claim, Faster
from tuilab.model.run import ArmSamples, RunState

THERE, GPU_THERE = (msgspec.structs.replace(arm, host="gpu-07") for arm in (GRAPH, GPU_GRAPH))
CLAIM = Claim(text="fast", when=Faster(a=ArmPattern(device="GPU"), b=ArmPattern(device="CPU")))


def joined(state: RunState) -> RunState:
    for host, gpu in (("", False), ("gpu-07", True)):
        state.apply(e.MachineJoined(run="r", host=host, machine=machine(gpu)))
    return state


def test_hosts_without_common_rounds_are_still_compared():
    state = joined(begun([GRAPH, THERE]))
    measure(state, {GRAPH: 3e-3})
    measure(state, {THERE: 1e-3})
    result = summarise(finish(state))
    (ratio,) = result.ratios
    assert (ratio.a, ratio.b) == (GRAPH.id, THERE.id)
    assert ratio.ci95[0] < 3 < ratio.ci95[1]
    assert result.answer.startswith("gpu-07 CPU graph is fastest")
    assert "local CPU graph" in result.answer
    assert set(result.machines) == {"", "gpu-07"}


def test_a_claim_is_judged_separately_on_each_host():
    state = joined(begun([GRAPH, THERE, GPU_THERE], gpu=False, no_gpu="no driver"))
    measure(state, {GRAPH: 1e-5})
    measure(state, {THERE: 2e-3, GPU_THERE: 1e-3})
    result = summarise(finish(state), [CLAIM])
    assert {(v.host, v.verdict) for v in result.claims} == {("", "untestable"), ("gpu-07", "confirmed")}
    assert all(v.evidence.startswith((v.host or "this machine") + ": ") for v in result.claims)


def test_a_crossover_pairs_arms_of_one_host():
    state = joined(begun([GRAPH, THERE, GPU_THERE], sizes=SIZES))
    measure(state, {GRAPH: lambda n: n * 1e-7})
    measure(state, {THERE: lambda n: n * 1e-7, GPU_THERE: lambda n: 1e-4 + n * 1e-9})
    result = summarise(finish(state))
    assert {(c.a, c.b) for c in result.crossovers} == {(GPU_THERE.id, THERE.id)}
    assert result.crossover.status == "found"


def test_a_run_of_one_host_is_not_split_by_host():
    state = begun([THERE, GPU_THERE])
    assert by_host(state) == {"gpu-07": state}


def test_an_unpaired_interval_holds_the_true_ratio_as_often_as_it_says():
    draw, held, trials = random.Random(7), 0, 400
    for _ in range(trials):
        a = [2.0 * math.exp(draw.gauss(0, 0.2)) for _ in range(20)]
        b = [1.0 * math.exp(draw.gauss(0, 0.05)) for _ in range(40)]
        found = unpaired(locate(logs(a)), locate(logs(b)))
        held += found.low <= 2.0 <= found.high
    # 95% is expected. The limits allow for three standard errors of 400 trials, and for trimming.
    assert 0.91 <= held / trials <= 0.985


def test_an_unpaired_interval_covers_the_variation_between_processes():
    draw, held, trials = random.Random(8), 0, 200
    for _ in range(trials):
        a, b = ArmSamples(), ArmSamples()
        for cell in (a, b):
            for process in range(5):
                pace = math.exp(draw.gauss(0, 0.05))
                cell.samples.extend(pace * math.exp(draw.gauss(0, 0.01)) for _ in range(20))
                cell.rounds.extend(range(20 * process, 20 * process + 20))
            cell.begun.extend(range(20, 100, 20))
        found = unpaired(log_mean(a), log_mean(b))
        held += found.low <= 1.0 <= found.high
    assert 0.91 <= held / trials <= 0.99


def test_without_samples_there_is_no_unpaired_ratio():
    def ratio(a: list[float], b: list[float]):
        return unpaired(locate(logs(a)), locate(logs(b)))

    assert ratio([], [1.0]) is None
    one = ratio([2.0], [1.0, 1.1])
    assert one.interval is None
    same = ratio([1.0, 1.0], [1.0, 1.0])
    assert same.ratio == pytest.approx(1)


def test_an_interrupted_run_lists_what_is_missing():
    other = Arm("CPU:0", "xla")
    state = begun([GRAPH, other, GPU_GRAPH], sizes=SIZES[:2])
    measure(state, {GRAPH: 1e-3})
    for index in range(3):
        block = e.Block(other.id, 0, 1, 1e-3)
        state.apply(e.Round(run="r", index=index, blocks=(block,), elapsed_s=1.0))
    state.apply(e.ArmStatus(run="r", arm=GPU_GRAPH.id, status="unavailable", reason="no GPU is visible"))
    assert missing(state) == {other.id: [0, 1]}
    state.apply(
        e.ArmStatus(run="r", arm=other.id, status="failed", reason="x", error=("ValueError",), point=1)
    )
    assert missing(state) == {other.id: [0]}
