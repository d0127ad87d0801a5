"""Runs with realistic figures, made up from a fixed seed, for the gallery and the widgets' tests."""

import random

import msgspec

from tuilab.model.arms import Arm, labels
from tuilab.model.claims import Verdict
from tuilab.model.events import ArmStatus, Block, Log, Point, Round, RunStarted
from tuilab.model.machine import Device, Machine
from tuilab.model.parameters import defaults
from tuilab.model.result import (
    ArmResult,
    CaveatLine,
    Crossover,
    MachineLine,
    PlacementRow,
    PointArm,
    PointResult,
    Ratio,
    RunResult,
)
from tuilab.model.run import RunState
from tuilab.model.scenario import BUDGET, Scenario
from tuilab.model.telemetry import CpuSample, DeviceSample, GpuSample, Link, ProcessSample
from tuilab.tui.widgets.spans import Span
from tuilab.workloads.stft import DECLARATION

ARMS = (
    Arm("CPU:0", "eager"),
    Arm("CPU:0", "graph"),
    Arm("CPU:0", "xla"),
    Arm("GPU:0", "eager"),
    Arm("GPU:0", "graph"),
    Arm("GPU:0", "graph", "copied"),
)
MEDIANS = (4.41e-3, 4.83e-4, 5.17e-4, 3.92e-3, 5.35e-4, 6.12e-4)
FIRST = (0.021, 0.34, 1.92, 0.44, 0.61, 0.58)
PHASES = (
    {"dispatch": 3.7e-3, "compute": 0.66e-3},
    {"dispatch": 0.11e-3, "compute": 0.36e-3},
    {"dispatch": 0.10e-3, "compute": 0.41e-3},
    {"dispatch": 3.6e-3, "compute": 0.29e-3},
    {"dispatch": 0.27e-3, "compute": 0.26e-3},
    {"dispatch": 0.15e-3, "copy_in": 0.21e-3, "compute": 0.05e-3, "copy_out": 0.18e-3},
)
MACHINE = Machine(
    host="gpu-07",
    cpu="AMD EPYC 9654",
    cores=96,
    memory=768 * 2**30,
    os="Linux 6.8",
    python="3.11.7",
    tensorflow="2.21.0",
    devices=(Device("CPU:0"), Device("GPU:0", "NVIDIA H200", "9.0", 139 * 2**30)),
    cuda_build=True,
)
SCENARIO = Scenario("stft", defaults(DECLARATION.parameters))


def run_state(rounds: int = 60, *, run: str = "r1", scale: float = 1.0, gpu: bool = True) -> RunState:
    """A run after so many rounds, its GPU arms unavailable where `gpu` is false."""
    state = RunState()
    rng = random.Random(run)
    start = RunStarted(
        run=run, scenario=SCENARIO, arms=ARMS, points=(Point(0),), budget=BUDGET["standard"], machine=MACHINE,
        at="2026-01-05T10:00:00Z", preset="stft-small",
    )  # fmt: skip
    state.apply(start)
    live = [i for i, arm in enumerate(ARMS) if gpu or arm.device == "CPU:0"]
    for i, arm in enumerate(ARMS):
        known = ("ok", arm.device, "") if i in live else ("unavailable", None, "no GPU is visible")
        state.apply(ArmStatus(run=run, arm=arm.id, status=known[0], device=known[1], reason=known[2]))  # type: ignore[arg-type]
    for index in range(rounds):
        blocks = []
        for i in live:
            spike = 1.35 if rng.random() < 0.03 else 1.0
            sample = MEDIANS[i] * scale * spike * rng.lognormvariate(0, 0.018)
            blocks.append(Block(ARMS[i].id, 0, 16, 16 * sample, sample * 1.12))
        state.apply(Round(run=run, index=index, blocks=tuple(blocks), elapsed_s=index * 0.1, timed_s=0.09))
    return state


def arm_results(*, gpu: bool = True) -> tuple[ArmResult, ...]:
    """The arms of the run as its result gives them."""
    out = []
    for i, (arm, label) in enumerate(zip(ARMS, labels(ARMS), strict=True)):
        there = gpu or arm.device == "CPU:0"
        median = MEDIANS[i]
        flags = (CaveatLine("outliers", "2 of 60 blocks lie beyond three quartile ranges"),) if i == 3 else ()
        out.append(
            ArmResult(
                id=arm.id,
                label=label,
                requested_device=arm.device,
                device=arm.device if there else None,
                mode=arm.mode,
                dtype=arm.dtype,
                input=arm.input,
                variant="",
                host="",
                status="ok" if there else "unavailable",
                reason="" if there else "no GPU is visible",
                median_s=median if there else None,
                ci95_s=(median * 0.985, median * 1.02) if there else None,
                n=60 if there else 0,
                latency_s=median * 1.12 if there else None,
                first_call_s=FIRST[i] if there else None,
                second_call_s=median * 1.3 if there else None,
                phases_s=PHASES[i] if there else {},
                total_s=median if there else None,
                residual_s=median * 0.02 if there else None,
                flags=flags,
            )
        )
    return tuple(out)


def run_result(*, gpu: bool = True) -> RunResult:
    """A sweep along samples, with a crossover, or CPU arms alone."""
    arms = arm_results(gpu=gpu)
    points = []
    for exponent in range(8, 25, 2):
        n = 2**exponent
        cells = []
        for i, arm in enumerate(ARMS):
            if not gpu and arm.device != "CPU:0":
                cells.append(PointArm(id=arm.id, median_s=None, ci95_s=None, n=0, status="unavailable"))
                continue
            fixed = (4.2e-3, 3.4e-4, 3.6e-4, 3.8e-3, 5.8e-4, 6.4e-4)[i]
            slope = (1.4e-8, 1.35e-8, 1.4e-8, 6e-10, 5.6e-10, 3.2e-9)[i]
            median = fixed + slope * n
            cells.append(
                PointArm(id=arm.id, median_s=median, ci95_s=(median * 0.95, median * 1.06), n=40, status="ok")
            )
        points.append(PointResult({"samples": n}, tuple(cells)))
    fast = min((a for a in arms if a.median_s), key=lambda a: a.median_s or 0.0)
    ratios = tuple(
        Ratio(a.id, fast.id, r := a.median_s / fast.median_s, (r * 0.98, r * 1.03))
        for a in arms
        if a.median_s and fast.median_s and a is not fast
    )
    found = Crossover(
        a=ARMS[4].id, b=ARMS[1].id, at=18_300.0, ci95=(15_000.0, 22_000.0), status="found",
        sentence="GPU graph overtakes CPU graph at 18 k samples [15 k 22 k].",
    )  # fmt: skip
    machine = MachineLine(
        host="gpu-07", cpu=MACHINE.cpu, gpus=("NVIDIA H200",), tensorflow="2.21.0", python="3.11.7"
    )
    claim = Verdict("a small STFT is slower on the GPU", "confirmed", "1.11 × slower")
    return RunResult(
        schema=1, preset="stft-small", scenario=SCENARIO, machine=machine, arms=arms, ratios=ratios,
        claims=(claim,), placement=(), answer="", budget="standard", status="ok", message="", run="r1",
        at="2026-01-05T10:00:00Z", elapsed_s=6.1, rounds=60, flags=(), facts={}, axis=("samples",),
        points=tuple(points), crossover=found if gpu else None, crossovers=(found,) if gpu else (),
    )  # fmt: skip


def placement_rows(count: int) -> list[PlacementRow]:
    """Rows as a large graph has them: mostly where asked, some not, some copies, some folded."""
    row = PlacementRow(
        arm=ARMS[4].id, node="", op="", kind="op", device="GPU:0", to="", memory="", dtype="float32",
        requested="", reason="", bytes=0, count=1,
    )  # fmt: skip
    ops = ("RFFT", "GatherV2", "Mul", "Reshape", "Pad", "StridedSlice", "Conv2D", "BiasAdd", "MatMul")
    out = [
        msgspec.structs.replace(row, node="stft/rfft", op="RFFT"),
        msgspec.structs.replace(
            row, node="stft/hann_window/Cast", op="Cast", device="CPU:0", requested="GPU:0", dtype="string",
            reason="this build has no GPU kernel of Cast for string",
        ),
        msgspec.structs.replace(
            row, node="signal", op="_Send", kind="copy", device="CPU:0", to="GPU:0", bytes=40_960
        ),
        msgspec.structs.replace(row, node="constants", op="", kind="folded", device="CPU:0", count=76),
        msgspec.structs.replace(row, node="stft/shape", op="Shape", memory="CPU:0"),
    ]  # fmt: skip
    for i in range(count - len(out)):
        op = ops[i % len(ops)]
        out.append(
            msgspec.structs.replace(row, node=f"model/block_{i // 9}/{op.lower()}", op=op, bytes=i * 64)
        )
    return out


def log_lines() -> list[Log]:
    """A few lines as TensorFlow writes them."""
    return [
        Log(text="Could not find cuda drivers on your machine, GPU will not be used.", level="info"),
        Log(
            text="This TensorFlow binary is optimized to use available CPU instructions: AVX2 AVX512F FMA",
            level="info",
        ),
        Log(text="worker 4711 is ready after 2.9 s", source="tuilab"),
        Log(
            text="5 out of the last 5 calls to <function f> triggered tf.function retracing.", level="warning"
        ),
        Log(text="ResourceExhaustedError: OOM when allocating tensor with shape[65536,65536]", level="error"),
    ]


def map_result() -> RunResult:
    """A sweep over samples and batch; one cell was not measured."""
    points = []
    for batch in (1, 4, 16, 64):
        for exponent in range(8, 21, 2):
            work = batch * 2**exponent
            cpu, gpu = 3.4e-4 + 1.35e-8 * work, 5.8e-4 + 5.6e-10 * work
            there = batch < 64 or exponent < 20
            cells = tuple(
                PointArm(
                    id=arm.id, median_s=value if there else None, ci95_s=(value * 0.97, value * 1.04), n=30,
                    status="ok" if there else "failed", reason="" if there else "out of memory",
                )
                for arm, value in ((ARMS[1], cpu), (ARMS[4], gpu))
            )  # fmt: skip
            points.append(PointResult({"samples": 2**exponent, "batch": batch}, cells))
    return msgspec.structs.replace(
        run_result(), axis=("samples", "batch"), points=tuple(points), crossover=None, crossovers=()
    )


def spans(count: int) -> list[Span]:
    """Steps of a loop on the host, each with ops inside, and their kernels on the GPU."""
    rng = random.Random(1)
    out, at = [], 0.0
    names = ("stft/rfft", "stft/frame/GatherV2", "stft/hann/Mul", "stft/Pad")
    while len(out) < count:
        begin = at
        for name in names:
            length = rng.uniform(5e-6, 40e-6)
            out.append(Span("host python", name, at, length, "float32"))
            out.append(Span("GPU:0 stream 7", name.replace("/", "_") + "_kernel", at + 20e-6, length * 0.7))
            at += length + 2e-6
        out.append(Span("host python", "step", begin - 1e-6, at - begin + 1e-6))
        at += rng.uniform(1e-5, 6e-5)
    return sorted(out, key=lambda span: span.start)[:count]


def device_sample(*, gpu: bool = True, cores: int = 96) -> DeviceSample:
    """A busy host, with a GPU or with the reason why there is none."""
    rng = random.Random(2)
    h200 = GpuSample(
        index=0, name="NVIDIA H200", use=0.37, memory_use=0.11,
        memory_used=61 * 10**9, memory_total=150 * 10**9,
        sm_clock_hz=1.755e9, memory_clock_hz=3.2e9, power_w=212.0, power_limit_w=700.0, temperature_c=41.0,
        throttle=("power cap by software",),
        link=Link(generation=5, width=16, max_generation=5, max_width=16),
        link_sent=1.2e6, link_received=3.4e9, unread={"processes": "a container does not see them"},
    )  # fmt: skip
    per_core = tuple(min(1.0, max(0.0, rng.gauss(0.4, 0.3))) for _ in range(cores))
    cpu = CpuSample(
        use=0.41, per_core=per_core, steal=0.02, frequency_hz=3.21e9, frequency_max_hz=3.7e9,
        memory_used=112 * 10**9, memory_total=768 * 10**9, load=38.2, quota=64.0,
    )  # fmt: skip
    worker = ProcessSample(pid=4711, use=3.92, involuntary=3.0, memory=2_100_000_000, threads=112)
    notes = (
        ()
        if gpu
        else ("No GPU figures: the NVIDIA management library is not installed (libnvidia-ml.so.1).",)
    )
    return DeviceSample(
        at=1.0, interval_s=1.0, cpu=cpu, gpus=(h200,) if gpu else (), process=worker, notes=notes
    )
