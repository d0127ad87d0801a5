import msgspec

from tests.analysis.made_runs import SIZES, begun, finish, machine, measure
from tests.made import GPU_GRAPH, GRAPH
from tuilab.analysis.machines import compared, machine_summaries, search, text_of
from tuilab.model import events as e
from tuilab.model.arms import ArmPattern
from tuilab.model.claims import Claim, Faster
from tuilab.model.machine_summary import Best, Crossed, MachineSummary
from tuilab.report.machines import machines_text

CLAIM = Claim(text="fast", when=Faster(a=ArmPattern(device="GPU"), b=ArmPattern(device="CPU")))


def stands(name: str, cpu: float = 1e-3, gpu: float | None = None, **about: object) -> MachineSummary:
    made = MachineSummary(
        run=f"run-{name}",
        at="2026-11-21T00:00:00Z",
        preset="stft-small",
        machine=name,
        origin="",
        cpu="c",
        gpus=() if gpu is None else ("a GPU",),
        tensorflow="2.21.0",
        python="3.11",
        driver="",
        budget="quick",
        parameters='{"samples":256}',
        on_cpu=Best("CPU graph", cpu),
        on_gpu=None if gpu is None else Best("GPU graph", gpu),
    )
    return msgspec.structs.replace(made, **about)


def test_a_run_becomes_one_summary_for_its_machine():
    state = finish(measure(begun([GRAPH, GPU_GRAPH]), {GRAPH: 2e-3, GPU_GRAPH: 1e-3}))
    (found,) = machine_summaries(state, [CLAIM])
    assert (found.machine, found.preset, found.kind, found.verdicts) == (
        "h",
        "stft-small",
        "GPU",
        ("confirmed",),
    )
    assert found.on_cpu is not None and abs(found.on_cpu.median_s / 2e-3 - 1) < 0.02
    assert found.best == found.on_gpu
    assert msgspec.json.decode(found.parameters) == {"samples": 256, "frame_length": 256}


def test_a_summary_of_a_disturbed_run_says_so():
    state = measure(begun([GRAPH]), {GRAPH: 2e-3})
    state.apply(e.Caveat(run="r", code="cpu-contention", message="the processor was shared"))
    (found,) = machine_summaries(finish(state))
    assert found.disturbed == "busy host"
    (busy,) = compared([found])
    assert machines_text([busy]).splitlines()[-1].endswith(f"{found.at[:10]}  busy host")
    (quiet,) = machine_summaries(finish(measure(begun([GRAPH]), {GRAPH: 2e-3})))
    assert quiet.disturbed == ""


def test_a_run_without_figures_gives_no_summary():
    assert machine_summaries(finish(begun([GRAPH]))) == ()


def test_a_run_of_two_hosts_becomes_one_summary_per_machine():
    there = msgspec.structs.replace(GRAPH, host="gpu-07")
    state = begun([GRAPH, there])
    for host in ("", "gpu-07"):
        own = msgspec.structs.replace(machine(), host=host or "laptop")
        state.apply(e.MachineJoined(run="r", host=host, machine=own))
    measure(state, {GRAPH: 1e-3})
    measure(state, {there: 2e-3})
    found = {s.machine: s for s in machine_summaries(finish(state))}
    assert set(found) == {"laptop", "gpu-07"}
    assert found["gpu-07"].origin == "gpu-07"
    assert found["gpu-07"].on_cpu is not None
    assert found["gpu-07"].on_cpu.label == "CPU graph"


def test_a_sweeps_crossover_is_kept():
    state = begun([GRAPH, GPU_GRAPH], sizes=SIZES)
    measure(state, {GRAPH: lambda n: n * 1e-7, GPU_GRAPH: lambda n: 1e-4 + n * 1e-9})
    (found,) = machine_summaries(finish(state))
    assert (found.crossed.status, found.crossed.a) == ("found", "GPU graph")
    assert found.crossed.low is not None and found.crossed.low < 1_010 < (found.crossed.high or 0)


def test_a_crossover_measured_by_several_nodes_belongs_to_none():
    state = begun([GRAPH, GPU_GRAPH], sizes=SIZES)
    for point in range(len(SIZES)):
        node = f"node-{point % 2}"
        own = msgspec.structs.replace(machine(), host=node)
        state.apply(e.MachineJoined(run="r", host=node, machine=own, points=(point,)))
    measure(state, {GRAPH: lambda n: n * 1e-7, GPU_GRAPH: lambda n: 1e-4 + n * 1e-9})
    (found,) = machine_summaries(finish(state), [CLAIM])
    assert (found.machine, found.crossed, found.verdicts) == ("node-0", None, ())


def test_machines_that_disagree_are_named():
    a = stands("a", 1e-3, 2e-3, claims="x", verdicts=("refuted", "untestable"))
    b = stands("b", 2e-3, 1e-3, claims="x", verdicts=("confirmed", "confirmed"))
    c = stands("c", 2e-3, 1e-3, claims="x", verdicts=("confirmed", "untestable"))
    (found,) = compared([b, c, a])
    assert [row.summary.machine for row in found.rows] == ["a", "b", "c"]
    assert found.disagreements == (
        "the faster device: GPU on b and c; CPU on a",
        "claim 1: confirmed on b and c; refuted on a",
    )


def test_at_most_four_machines_with_the_same_answer_are_named():
    other = stands("z", 1e-3, 2e-3)
    for names, words in (("abcd", "a, b, c and d"), ("abcdef", "a, b, c, d and 2 more")):
        (found,) = compared([*(stands(name, 2e-3, 1e-3) for name in names), other])
        assert found.disagreements == (f"the faster device: GPU on {words}; CPU on z",)


def test_a_machine_without_a_gpu_causes_no_disagreement():
    assert compared([stands("a", 1e-3), stands("b", 2e-3, 1e-3)])[0].disagreements == ()


def test_runs_with_different_claims_or_parameters_are_not_compared():
    a, b = stands("a", claims="x", verdicts=("refuted",)), stands("b", claims="y", verdicts=("confirmed",))
    assert compared([a, b])[0].disagreements == ()
    other = stands("b", 2e-3, 1e-3, parameters='{"samples":512}')
    found = compared([stands("a", 1e-3, 2e-3), other])
    assert [len(rows.rows) for rows in found] == [1, 1]
    assert [rows.differing for rows in found] == [{"samples": 256}, {"samples": 512}]


def test_differing_and_missing_crossovers_are_named():
    def crossed(name: str, at: float | None, low: float = 0, high: float = 0) -> MachineSummary:
        status = "found" if at is not None else "none"
        return stands(name, crossed=Crossed("samples", "GPU", "CPU", status, at, low, high))

    near = [crossed("a", 1_000, 900, 1_100), crossed("b", 1_050, 950, 1_150)]
    assert compared(near)[0].disagreements == ()
    (sentence,) = compared([*near, crossed("c", 5_000, 4_500, 5_500)])[0].disagreements
    assert sentence == "the crossover along samples: from 1,000 on a to 5,000 on c"
    (sentence,) = compared([*near, crossed("c", None)])[0].disagreements
    assert sentence == "a crossover: found on a and b; none on c"


def test_uncommon_versions_are_marked():
    found = compared([stands("a"), stands("b"), stands("c", tensorflow="2.20.0")])
    assert [row.unlike for row in found[0].rows] == [(), (), ("TensorFlow 2.20.0",)]


def test_every_word_of_a_search_must_occur():
    every = [stands("node-1", 1e-3, 2e-3), stands("node-2", verdicts=("refuted",)), stands("other")]
    texts = [text_of(s) for s in every]
    assert [s.machine for s in search(every, texts, "node")] == ["node-1", "node-2"]
    assert [s.machine for s in search(every, texts, "NODE refuted")] == ["node-2"]
    assert [s.machine for s in search(every, texts, "a GPU")] == ["node-1"]
    assert search(every, texts, "nowhere") == []
