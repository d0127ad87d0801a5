"""The exact text of reports for given figures, with every column, digit and unit."""

import re
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from tests.made import GRAPH, account, machine, profile
from tests.report.drawn import drawn
from tests.report.test_reports import run
from tuilab.analysis.machines import PresetRows, Row
from tuilab.analysis.summary import summarise
from tuilab.model import events as e
from tuilab.model.explain import ArmPlacement, KernelLine, OpExplanation, ScenarioExplanation
from tuilab.model.machine_summary import Best, Crossed, MachineSummary
from tuilab.model.profile import DeviceTime, OpTime, PhaseTime
from tuilab.model.program import Bottleneck, FunctionRow, OpRow, Page, ProcessRow, StepPart, StepTimes, Tried
from tuilab.model.result import PointArm, PointResult, Ratio
from tuilab.model.roofline import DeviceRoofs, LinkRoof, MemoryRoof, Roofs, Work
from tuilab.report.axes import PlotAxis, limits, linear
from tuilab.report.chart import Chart, Series, Thinned
from tuilab.report.explained import MOST, op_text, scenario_text
from tuilab.report.fact_check import FactCheck, Statement, html, markdown, text
from tuilab.report.machines import machines_text
from tuilab.report.profiled import profile_text
from tuilab.report.program import compared, gained, page_text
from tuilab.report.roofs import roofs_text
from tuilab.report.rows import layer_rows, layers_in, roof_lines, roof_rows
from tuilab.report.svg import svg
from tuilab.report.sweep import _compared, heat_of, in_powers_of_two
from tuilab.report.text import table

ROOFS = DeviceRoofs(
    memory=(MemoryRoof(32_768, 100e9), MemoryRoof(268_435_456, 10e9)),
    triad=9.5e9,
    peaks={"float32": 100e9},
    link=LinkRoof(latency_s=8e-6, to_device=12e9),
    launch_s={"eager": 5e-6, "graph": 100e-6},
)
STEPS = StepTimes(n=1_234, median_s=0.1, ci95_s=(0.099, 0.102), kind="keras")
PAGE = Page(
    command=("python", "train.py"),
    steps=STEPS,
    parts=(StepPart(name="input", seconds=0.0834, share=0.834), StepPart(name="compute", seconds=0.0166, share=0.166),
           StepPart(name="other", seconds=1e-5, share=1e-4)),
    findings=(Bottleneck(code="input-bound", message="83% of a step waits for input", file="/x/train.py", line=12,
                      gain_at_most=6.0, remedy="add prefetch"),),
    ops=(OpRow(op="MatMul", device="CPU:0", share=0.12, reason="int32", file="/x/train.py", line=20, layer="d1"),),
    functions=(FunctionRow(name="m.step", file="/x/train.py", line=8, traces=7, xla=False, differed="shape"),),
    processes=(ProcessRow(pid=1, parent=0, command="python", steps=STEPS),),
)  # fmt: skip
CHECK = FactCheck(
    title="A title",
    statements=[
        Statement(
            preset="a", title="Sums", text="is slower", line=3, verdict="confirmed", evidence="2.0× slower."
        ),
        Statement(preset="b", text="is faster"),
    ],
)


def test_arms_are_printed_with_their_roofs():
    state = run()
    work = Work(flop=1e6, inputs=1e6, outputs=1e5)
    state.apply(e.WorkKnown(run="abc", arm=GRAPH.id, point=0, work=work))
    known = Roofs(machine=state.machine.key, at="", seconds=1.0, sync_s=1e-6, devices={"CPU:0": ROOFS})
    state.apply(e.RoofsKnown(run="abc", roofs=known))
    result = summarise(state)

    def cells(details: bool) -> list[list[str]]:
        lines = table(result, details=details).splitlines()
        return [re.split(r"  +", line.strip()) for line in lines if line.startswith(("arm ", "CPU "))]

    arms = [
        ["arm", "median", "95% interval", "n", "first call", "device"],
        ["CPU eager", "2.040 ms", "[2.020 2.060]", "30", "CPU:0"],
        ["CPU graph", "510.0 µs", "[505.0 515.0]", "30", "CPU:0"],
    ]
    cache = "100 GB/s cache (32.8 kB)"
    assert cells(True) == [
        *arms,
        ["arm", "arithmetic", "bytes", "of the roof", "roof", "bound by"],
        ["CPU eager", "490 MFLOP/s", "539 MB/s", "0.5%", cache, "not known"],
        ["CPU graph", "1.96 GFLOP/s", "2.16 GB/s", "2.2%", cache, "not known"],
    ]
    assert cells(False) == [
        *arms,
        ["arm", "arithmetic", "of the roof", "bound by"],
        ["CPU eager", "490 MFLOP/s", "0.5%", "not known"],
        ["CPU graph", "1.96 GFLOP/s", "2.2%", "not known"],
    ]


def test_the_notes_of_roofs_are_lines_below_a_narrow_table():
    state = run()
    work = Work(flop=1e6, inputs=1e6, outputs=1e5, uncounted=("Svd", "TopKV2", "Fft", "Cumsum", "Qr"))
    state.apply(e.WorkKnown(run="abc", arm=GRAPH.id, point=0, work=work))
    slow = replace(ROOFS, memory=(MemoryRoof(32_768, 1e9), MemoryRoof(268_435_456, 1e9)))
    known = Roofs(machine=state.machine.key, at="", seconds=1.0, sync_s=1e-6, devices={"CPU:0": slow})
    state.apply(e.RoofsKnown(run="abc", roofs=known))
    printed = table(summarise(state)).splitlines()
    head = next(n for n, line in enumerate(printed) if line.split()[-2:] == ["bound", "by"])
    rows = printed[head : head + 3]
    assert max(map(len, rows)) <= 120 and not any("which" in row or "Svd" in row for row in rows), rows
    assert printed[head + 3 : head + 5] == [
        "The arithmetic of Svd, TopKV2, Fft and 2 more is not counted: ≥ marks a lower limit.",
        "The roof 2.16 GB/s cache (1.10 MB), which CPU graph reached, is above the measured roof.",
    ]
    assert "The roof " not in table(summarise(state), details=False), "its table has no column of roofs"


def test_a_note_explains_only_signs_that_stand_in_a_table():
    for seed in range(300):
        result = summarise(drawn(seed))
        notes = " ".join(roof_lines(result))
        cells = [cell[:1] for row in (*roof_rows(result), *layer_rows(layers_in(result))) for cell in row]
        for sign in "≥≤≈":
            assert sign not in notes or sign in cells, (seed, notes)
        assert "≤" not in cells or "≤" in notes, (seed, notes)


def test_the_roofs_of_a_machine_are_printed():
    known = Roofs(
        machine="m", at="2026", seconds=3.0, sync_s=2e-6, devices={"CPU:0": ROOFS}, least=0.07, others=0.5
    )
    lines = [re.split(r"   +", line.strip()) for line in roofs_text(machine(), known).splitlines()]
    assert lines == [
        ["h: c, 2 cores; TensorFlow 2.21.0."],
        [""],
        ["CPU:0"],
        ["triad in memory", "9.50 GB/s"],
        ["cache (32.8 kB)", "100 GB/s"],
        ["memory", "10.0 GB/s"],
        ["float32 arithmetic", "100 GFLOP/s"],
        ["an empty copy", "8.00 µs"],
        ["copies to the device", "12.0 GB/s"],
        ["copies to the host", "no measurable cost per byte"],
        ["an empty call, one op, eager", "5.00 µs"],
        ["an empty call, one graph", "100 µs"],
        [""],
        ["One empty synchronization: 2.00 µs."],
        ["Twenty rounds detect a difference of 7% on this machine in nine of ten runs."],
        ["Measured in 3.0 s at 2026; each figure is the best ever measured on this machine."],
        ["! Other processes used 50% of the processors during the measurement, so the real roofs may be higher: "
         "run tuilab machine --again when the machine is idle."],
    ]  # fmt: skip


def test_a_watched_program_is_printed():
    assert page_text(PAGE).splitlines() == [
        "tuilab watched python train.py",
        "input-bound: 83% of a step waits for input",
        "step (a Keras step): 100 ms [99.0 102], 1,234 seen",
        "",
        "  input       83%   83.4 ms  " + 25 * "█",
        "  compute     17%   16.6 ms  " + 5 * "█",
        "",
        "input-bound  train.py:12",
        "  83% of a step waits for input",
        "  fixing it speeds up the program by at most 6.00×",
        "  change: add prefetch",
        "",
        "ops of a step:",
        f"     12%  {'MatMul':<24} CPU:0  d1  train.py:20  int32",
        "",
        "functions traced more than once:",
        "  step train.py:8: 7 traces, shape differed",
        "",
        "profiling took 0% of the run time (0 windows)",
    ]
    other = Page(command=PAGE.command, host=PAGE.host, steps=STEPS, parts=PAGE.parts[1:2])
    assert compared(PAGE, other) == [
        "100 ms → 100 ms a step, no difference beyond the noise",
        "input 83% → 0%",
        "compute 17% → 17%",
        "other <0.1% → 0%",
        "fixed: input-bound",
    ]


def test_a_limit_above_what_is_saved_is_named_with_it():
    """The change removes 95% of the step, or 24 s of 29 s, which makes the program 5.8 times as fast. The
    interval of the share extends to 99%, which would make the program 7.27 times as fast.
    """
    found = Bottleneck(
        code="eager-step", message="", file="train.py", line=3, share=0.95, gain_at_most=20.0,
        gain_ci95=(10.0, 100.0), program_share=24 / 29, saves_s=24.0,
    )  # fmt: skip
    assert gained(found) == "saves about 24.0 s and speeds up the program by about 5.80× and at most 7.27×"
    alone = replace(found, gain_ci95=None)
    assert (
        gained(alone)
        == "saves about 24.0 s and speeds up the program by at most 5.80×, the step by at most 20.0×"
    )
    half = replace(found, share=0.5, gain_at_most=2.0, gain_ci95=(1.8, 3.6), program_share=0.33, saves_s=9.3)
    assert gained(half).endswith("the step by about 2.00× and at most 3.60×"), (
        "saving half of a step gives 2×"
    )
    most = replace(
        found, share=0.9, gain_at_most=10.0, gain_ci95=(9.0, 70.0), program_share=0.33, saves_s=9.3
    )
    assert gained(most).endswith("the step by about 10.0× to 70.0×"), "a small error of 90% may double 10×"
    none = replace(found, share=0.0, gain_at_most=1.0, gain_ci95=(1.0, 21.4), program_share=0.0, saves_s=0.0)
    assert gained(none) == "speeds up the step by at most 21.4×", "not the program, which has other parts"
    tried = replace(found, tried=Tried(step=14.0, step_ci95=(13.0, 15.0), program=4.3, said="as a graph"))
    assert gained(tried) == "saves about 24.0 s", "the trial's own sentence names the speedups"
    uncertain = replace(found, code="xla-off")
    assert gained(uncertain) == "saves at most 25.0 s and speeds up the program by at most 7.27×"


def test_measured_and_unmeasured_claims_are_listed_together():
    assert text(CHECK).splitlines() == [
        "A title", "", "✓ confirmed: is slower (line 3)", "  2.0× slower.", "  measured with Sums (a)",
        "· not measured: is faster", "",
        "1 of 2 measured: 1 confirmed", "Not measured yet.",
    ]  # fmt: skip
    assert markdown(CHECK).splitlines()[4:8] == [
        "|  | claim | line | verdict | evidence | measured with |", "|---|---|---|---|---|---|",
        "| ✓ | is slower | 3 | confirmed | 2.0× slower. | Sums (a) |",
        "| · | is faster |  | not measured |  | b |",
    ]  # fmt: skip
    assert re.findall("<t[dh][^>]*>([^<]*)<", html(CHECK)) == [
        "", "claim", "line", "verdict", "evidence", "measured with",
        "✓", "is slower", "3", "confirmed", "2.0× slower.", "Sums (a)",
        "·", "is faster", "", "not measured", "", "b",
    ]  # fmt: skip


def test_an_untestable_claim_is_not_counted_as_measured():
    untestable = Statement(preset="x", text="the GPU wins", verdict="untestable", evidence="No GPU.")
    assert replace(CHECK, statements=[untestable]).summary() == "0 of 1 measured; 1 untestable here"
    both = replace(CHECK, statements=[*CHECK.statements, untestable])
    assert both.summary() == "1 of 3 measured: 1 confirmed; 1 untestable here"


def test_the_axes_of_a_picture_are_printed():
    assert limits(PlotAxis(), [10.0, 10.0]) == (9.5, 10.5) and linear(300.0, 900.0, 5) == [
        400.0,
        600.0,
        800.0,
    ]
    assert in_powers_of_two([1, 2, 4]) and not in_powers_of_two([0.5, 2]) and not in_powers_of_two([2, 3])
    curve = Series("a", "A", [0.0, 1.0, 8.0], [1.0, 2.0, 3.0], "curve", "a")
    drawn = svg(Chart("t", (curve,), x=PlotAxis("n"), y=PlotAxis("t")))
    assert re.findall('class="mid">([^<]*)<', drawn) == ["0", "2", "4", "6", "8", "n"]
    assert re.findall('class="end">([^<]*) <', drawn) == ["0.0", "0.5", "1.0", "1.5", "2.0", "2.5", "3.0"]


def test_medians_of_a_long_series_are_centred_on_their_section():
    _, (xs, _) = Thinned(range(9_990), [1.0] * 9_990).points(80)
    assert (xs[0], xs[1], xs[-1]) == (32, 96, 9_989)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ((1.15, (1.05, 1.2)), "A and B cannot be told apart; 1.0 s and 1.15 s"),
        ((1.06, (1.05, 1.08)), "A and B cannot be told apart; 1.0 s and 1.06 s"),
        ((0.95, (0.92, 0.97)), "A and B cannot be told apart; 1.0 s and 950 ms"),
        ((2.0, (1.9, 2.1)), "A is 2.0× faster than B; 1.0 s against 2.00 s"),
        ((0.5, (0.4, 0.6)), "B is 2.0× faster than A; 500 ms against 1.0 s"),
        ((None, None), "not measured"),
    ],
)
def test_two_arms_at_one_position_are_both_printed(other, words):
    pair = ((1.0, (0.9, 1.1)), other)
    a, b = (
        PointArm(id=i, median_s=m, ci95_s=c, n=9, status="ok") for i, (m, c) in zip("ab", pair, strict=True)
    )
    assert _compared(a, b, "A", "B", "n 1").words == f"n 1: {words}"


@pytest.mark.parametrize(
    ("ratio", "ci95", "words"),
    [
        (0.8, (0.7, 0.9), "A is 1.2× faster than B; 1.0 s against 1.15 s"),
        (0.96, (0.85, 1.1), "A and B cannot be told apart; 1.0 s and 1.15 s"),
        (1.3, (1.2, 1.4), "A and B cannot be told apart; 1.0 s and 1.15 s"),  # the medians say the opposite
    ],
)
@pytest.mark.parametrize("turned", [False, True])
def test_a_map_compares_arms_by_their_common_rounds(ratio, ci95, words, turned):
    """The intervals of the medians overlap, whatever the rounds say."""
    arms = [("a", 1.0, (0.9, 1.1)), ("b", 1.15, (1.05, 1.2))]
    timed = tuple(PointArm(id=i, median_s=m, ci95_s=c, n=9, status="ok") for i, m, c in arms)
    known = Ratio("b", "a", 1 / ratio, (1 / ci95[1], 1 / ci95[0])) if turned else Ratio("a", "b", ratio, ci95)
    point = PointResult({"x": 1, "y": 2}, timed, ratios=(known,))
    result = SimpleNamespace(
        axis=("x", "y"), points=(point,), arms=[SimpleNamespace(id=i, label=i.upper()) for i in "ab"]
    )
    ((cell,),) = heat_of(result, "a", "b").cells
    assert cell.words == f"x 1, y 2: {words}"


def made(name: str, cpu: Best | None, gpu: Best | None, crossed: Crossed | None, **more: object) -> Row:
    summary = MachineSummary(
        run=name, at="2026", preset="p", machine=name, origin="", cpu="c", gpus=(), tensorflow="2.21.0", python="3.11",
        driver="", budget="quick", parameters="{}", on_cpu=cpu, on_gpu=gpu, crossed=crossed,
        verdicts=("confirmed", "refuted"),
    )  # fmt: skip
    return Row(summary, **more)


def test_one_preset_on_several_machines_is_printed():
    cpu, gpu = Best("CPU graph", 4.83e-4, 4.81e-4, 4.85e-4), Best("GPU graph", 2e-3)
    found = PresetRows(
        preset="stft", differing={"samples": 4096}, disagreements=("the fastest: CPU here",),
        rows=(
            made("a", cpu, gpu, Crossed("samples", "x", "y", "found", 4096.0)),
            made("b", None, gpu, Crossed("samples", "x", "y", "none"), unlike=("TensorFlow",)),
            made("c", None, None, None),
        ),
    )  # fmt: skip
    assert [re.split(r"   *", line.strip()) for line in machines_text([found]).splitlines()] == [
        ["stft, samples 4096: 3 machines"],
        ["machine", "CPU", "GPU", "fastest", "crossover", "claims", "TensorFlow", "measured"],
        ["a", "483.0 µs", "2.0 ms", "CPU graph", "4,096", "✓✗", "2.21.0", "2026"],
        ["b", "–", "2.0 ms", "GPU graph", "none", "✓✗", "2.21.0", "2026", "! TensorFlow"],
        ["c", "–", "–", "–", "✓✗", "2.21.0", "2026"],
        ["≠ the fastest: CPU here"],
    ]


def test_a_reason_shared_by_all_ops_of_an_arm_is_printed_once():
    nodes = tuple(
        e.Node(f"layer/{op}", op, "CPU:0", dtype="float32", reason="no GPU is visible")
        for op in ("MatMul", "Relu")
    )
    arm = ArmPlacement(
        arm="cpu0.graph", requested="CPU:0", label="CPU graph", device="CPU:0", ops=2, nodes=nodes
    )
    answer = ScenarioExplanation(
        workload="mine", gpu_visible=True, no_gpu="", arms=(arm,), sentence="All ran on the CPU.", forecast=()
    )
    lines = scenario_text(answer, 80).splitlines()
    assert "CPU graph: runs on CPU:0, 2 ops; no GPU is visible" in lines
    assert [line.split() for line in lines if "layer/" in line] == [
        ["MatMul", "layer/MatMul", "float32", "CPU:0"],
        ["Relu", "layer/Relu", "float32", "CPU:0"],
    ]
    assert not any("more rows" in line for line in lines)
    for more, last in (
        (0, f"MatMul n{MOST - 1} CPU:0"),
        (2, "and 2 more rows (--json has them all)"),
    ):
        many = tuple(e.Node(f"n{i}", "MatMul", "CPU:0") for i in range(MOST + more))
        printed = scenario_text(replace(answer, arms=(replace(arm, nodes=many),)), 80)
        assert " ".join(printed.partition("\n\nForecast")[0].splitlines()[-1].split()) == last
    other = replace(nodes[0], reason="it was pinned there")
    said = scenario_text(replace(answer, arms=(replace(arm, nodes=(other, nodes[1])),)), 80)
    assert "it was pinned there" in said and "2 ops; " not in said, "each its own"


def test_the_explanation_of_an_op_is_printed():
    answer = OpExplanation(
        op="MatMul", dtype="int32", gpu=False, reason="no kernel", evidence="the registry", code="no-kernel",
        kernels=(KernelLine(device="CPU", dtypes=("float32", "int32")), KernelLine(device="GPU", host_memory=("shape",))),
        attribute="T", forced="InvalidArgument",
    )  # fmt: skip
    assert op_text(answer).splitlines() == [
        "MatMul int32: does not run on a GPU",
        "  why        no kernel",
        "  evidence   the registry",
        "  if forced  InvalidArgument",
        "  CPU        float32, int32",
        "  GPU        any dtype · in host memory: shape",
    ]
    placer = "Cannot assign a device: available devices are [ CPU:0 ]"
    for seen, start in ((False, "without a GPU, as here: Cannot"), (True, "Cannot")):
        said = op_text(replace(answer, gpu=True, forced=placer, gpu_visible=seen))
        assert f"  if forced  {start}" in said, "the error comes from this machine, not from the op"


def test_a_profile_is_printed():
    part = {"python": 0.2e-3, "compute": 0.8e-3}
    rows = [
        OpTime(
            op="MatMul", name=f"m{i}", device="CPU", phase="compute", count=1.5, seconds=0.3e-3, busy_s=0.9e-3
        )
        for i in range(2)
    ]
    rows += [
        OpTime(op=op, name=op, device="CPU", phase="compute", count=1, seconds=1e-4, busy_s=busy)
        for op, busy in (("Relu", 1.06e-4), ("Sum", 1.04e-4))
    ]
    phases = tuple(PhaseTime(phase=name, seconds=spent, share=spent / 1e-3) for name, spent in part.items())
    busy = (DeviceTime(device="CPU:0", seconds=0.7e-3, share=0.7),)
    told = profile(GRAPH.id, ops=tuple(rows), account=account(1e-3, **part), phases=phases, devices=busy)
    assert profile_text(told, "CPU graph").splitlines() == [
        "",
        "CPU graph on CPU:0: 1.00 ms a call; 1.00 ms a call under the profiler (1 call)",
        "  compute  800 µs  80%  at least one kernel of the call runs",
        "  python   200 µs  20%  Python and the libraries that it calls, outside TensorFlow",
        "  CPU:0 busy for 700 µs, 70% of the call under the profiler",
        "",
        "  MatMul  CPU  3×  600 µs  60%  busy 1.80 ms",
        "  Relu    CPU  1×  100 µs  10%  busy 106 µs",
        "  Sum     CPU  1×  100 µs  10%",
    ]
