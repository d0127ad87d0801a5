"""Runs with realistic figures from the scripted runner."""

import random
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain

import msgspec

from tests.tui.scripted import CPU_MACHINE, GPU_MACHINE, PROFILE, Script
from tuilab.analysis.summary import summarise
from tuilab.model.arms import Arm
from tuilab.model.claims import Verdict
from tuilab.model.events import ArmStatus, Event, Log, Round, RunStarted
from tuilab.model.machine import Machine
from tuilab.model.parameters import defaults
from tuilab.model.profile import Lane, Profile, Span
from tuilab.model.requests import Measure
from tuilab.model.result import ArmResult, PlacementRow, RunResult
from tuilab.model.run import RunState
from tuilab.model.scenario import BUDGET, Axis, BudgetName, Scenario, Sweep
from tuilab.model.telemetry import CpuSample, DeviceSample, GpuSample, Link, ProcessSample
from tuilab.workloads.stft import DECLARATION

ARMS = (
    Arm("CPU:0", "eager"),
    Arm("CPU:0", "graph"),
    Arm("CPU:0", "xla"),
    Arm("GPU:0", "eager"),
    Arm("GPU:0", "graph"),
    Arm("GPU:0", "graph", "copied"),
)
MACHINE = GPU_MACHINE
SCENARIO = Scenario("stft", defaults(DECLARATION.parameters))
FIGURES = RunStarted | ArmStatus | Round
"""The types of event that show a run in progress after its warm-up."""


def events(
    rounds: int = 24,
    run: str = "r1",
    *,
    arms: tuple[Arm, ...] = ARMS,
    axes: tuple[Axis, ...] = (),
    scenario: Scenario = SCENARIO,
    machine: Machine = MACHINE,
    preset: str = "stft-small",
    budget: BudgetName = "standard",
    scale: float = 1.0,
    seed: str = "",
) -> Iterator[Event]:
    """Yield the events of a whole run. scale: factor by which the arms are slower than in the script."""
    sweep = Sweep(axes=axes, refine=False) if axes else None
    request = Measure(id=run, scenario=scenario, arms=arms, budget=BUDGET[budget], sweep=sweep, preset=preset)
    return chain.from_iterable(Script(request, machine, rounds, scale=scale, seed=seed).batches())


def folded(told: Iterable[Event]) -> RunState:
    state = RunState()
    for event in told:
        state.apply(event)
    return state


def run_state(rounds: int = 60, *, run: str = "r1", scale: float = 1.0, gpu: bool = True) -> RunState:
    told = events(rounds, run, scale=scale, machine=MACHINE if gpu else CPU_MACHINE)
    return folded(event for event in told if isinstance(event, FIGURES))


@cache
def run_result(*, gpu: bool = True) -> RunResult:
    """Return the result of a sweep over samples. With a GPU, the sweep has a crossover; without one, it has
    only CPU arms.
    """
    sizes, machine = Axis("samples", tuple(2**n for n in range(8, 25, 2))), MACHINE if gpu else CPU_MACHINE
    run, sweep = (summarise(folded(events(axes=axes, machine=machine))) for axes in ((), (sizes,)))
    claim = Verdict("a small STFT is slower on the GPU", "confirmed", "1.11× slower")
    found = {name: getattr(sweep, name) for name in ("axis", "points", "crossover", "crossovers")}
    return msgspec.structs.replace(run, claims=(claim,), **found)


def arm_results(*, gpu: bool = True) -> tuple[ArmResult, ...]:
    return run_result(gpu=gpu).arms


@cache
def map_result() -> RunResult:
    """Return the result of a sweep over samples and batch. One cell was not measured."""
    axes = (Axis("samples", tuple(2**n for n in range(8, 21, 2))), Axis("batch", (1, 4, 16, 64)))
    result = summarise(folded(events(axes=axes, arms=(ARMS[1], ARMS[4]))))
    *points, last = result.points
    lost = {"median_s": None, "ci95_s": None, "status": "failed", "reason": "out of memory"}
    arms = tuple(msgspec.structs.replace(arm, **lost) for arm in last.arms)
    return msgspec.structs.replace(result, points=(*points, msgspec.structs.replace(last, arms=arms)))


def placement_rows(count: int) -> list[PlacementRow]:
    """Return placement rows of a large graph: most ops on the requested device, some elsewhere, copies, and
    folded ops.
    """
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


def profile(count: int) -> Profile:
    """Return a profile with `count` events: loop iterations on the host that contain ops, and kernels on the
    GPU.
    """
    rng = random.Random(1)
    out, at = [], 0.0
    names = ("stft/rfft", "stft/frame/GatherV2", "stft/hann/Mul", "stft/Pad")
    while len(out) < count:
        begin = at
        for name in names:
            length = rng.uniform(5e-6, 40e-6)
            out.append(Span(0, at, length, name, "dispatch"))
            out.append(Span(1, at + 20e-6, length * 0.7, name.replace("/", "_") + "_kernel"))
            at += length + 2e-6
        out.append(Span(0, begin - 1e-6, at - begin + 1e-6, "step"))
        at += rng.uniform(1e-5, 6e-5)
    spans = sorted(out, key=lambda span: span.start_s)[:count]
    lanes = (Lane("python", "host"), Lane("stream 7", "GPU:0"))
    return msgspec.structs.replace(PROFILE, lanes=lanes, spans=tuple(spans))


def device_sample(*, gpu: bool = True, cores: int = 96) -> DeviceSample:
    """Return a sample of a busy host, with a GPU or with the reason why it has none."""
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
        ("GPU 0: no processes: a container does not see them",)
        if gpu
        else ("No GPU figures: the NVIDIA management library is not installed (libnvidia-ml.so.1).",)
    )
    return DeviceSample(
        at=1.0, interval_s=1.0, cpu=cpu, gpus=(h200,) if gpu else (), process=worker, notes=notes
    )
