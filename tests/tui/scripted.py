"""A runner without a process. It plays the same synthetic events each time."""

import asyncio
import itertools
import random
from collections.abc import Callable, Collection, Iterable, Iterator

import msgspec

from tests.made import account
from tuilab.model.arms import Arm, family
from tuilab.model.events import (
    Accounted,
    Answer,
    ArmStatus,
    Block,
    Caveat,
    Declared,
    Event,
    Finished,
    FirstCalls,
    Hello,
    Log,
    Node,
    Placement,
    Point,
    Progress,
    Ready,
    Refused,
    Round,
    RunStarted,
    WarmedUp,
    Warming,
    WarmUp,
)
from tuilab.model.explain import ForecastRow, ScenarioExplanation
from tuilab.model.machine import Device, Machine
from tuilab.model.profile import DeviceTime, Lane, OpTime, PhaseTime, Profile, Span
from tuilab.model.requests import Ask, Cancel, Declare, Measure, Request
from tuilab.model.scenario import Sweep
from tuilab.model.workload import Declaration

GPU_MACHINE = Machine(
    host="gpu-07",
    cpu="AMD EPYC 9654 96-Core Processor",
    cores=96,
    memory=768 * 2**30,
    os="Linux 6.8",
    python="3.11.7",
    tensorflow="2.21.0",
    devices=(
        Device("CPU:0"),
        Device("GPU:0", "device: 0, name: NVIDIA H200, pci bus id: 0000:1b:00.0", "9.0", 139 * 2**30),
    ),
    cuda_build=True,
    cuda_version="12.5.1",
    driver="570.86",
)
CPU_MACHINE = Machine(
    host="laptop",
    cpu="Intel(R) Core(TM) i7-1365U",
    cores=2,
    memory=16 * 2**30,
    os="Linux 6.8",
    python="3.11.7",
    tensorflow="2.21.0",
    devices=(Device("CPU:0"),),
    cuda_build=True,
    no_gpu="no NVIDIA driver is loaded",
)
WARMING = (
    "2026-01-05 10:00:00.100000: I tensorflow/core/platform/cpu_feature_guard.cc:210] This TensorFlow "
    "binary is optimized to use available CPU instructions in performance-critical operations.",
    "W0000 00:00:1767607200.2 1 gpu_device.cc:2344] Cannot dlopen some GPU libraries.",
)
BROKEN = f"ValueError: {' '.join(['the shapes do not fit'] * 4)} (model.py, line 7, in step)"
FIXED = {"eager": (4.2e-3, 3.8e-3), "graph": (3.4e-4, 5.8e-4), "xla": (3.6e-4, 5.3e-4)}
SLOPE = (1.35e-8, 5.6e-10)


def cost(arm: Arm, samples: int) -> float:
    """Return an arm's seconds per call. A CPU starts faster, a GPU is faster per sample, and copies take
    extra time.
    """
    gpu = family(arm.device) == "GPU"
    copies = 7e-5 + 2.6e-9 * samples if gpu and arm.input == "copied" else 0.0
    return FIXED[arm.mode][gpu] + SLOPE[gpu] * samples + copies


class Script:
    """The events of a run, in batches. A real worker sends each batch in a single write."""

    def __init__(
        self,
        request: Measure,
        machine: Machine,
        rounds: int = 24,
        *,
        scale: float = 1.0,
        seed: str = "",
        failing: Collection[str] = (),
    ) -> None:
        """scale: factor by which the arms are slower. seed: selects other samples for the same scenario.
        failing: modes whose arms raise an error.
        """
        self._request, self._machine, self._count, self._scale = request, machine, rounds, scale
        self._rng = random.Random(repr(sorted(request.scenario.parameters.items())) + seed)
        devices = {d.name for d in machine.devices}
        filtering = bool(request.scenario.parameters.get("filter", True))
        there = [a for a in request.arms if a.device in devices and (filtering or a.variant != "split")]
        self._live = [arm for arm in there if arm.mode not in failing]
        self._broken = [arm for arm in there if arm.mode in failing]

    def batches(self) -> Iterator[list[Event]]:
        yield list(self._begin())
        for arm in self._live:
            yield list(self._prepare(arm))
        for index in range(self._count if self._live else 0):
            yield [self._round(index)]
        yield list(self._after())
        yield [Finished(run=self._request.id, status="ok", elapsed_s=self._count * 0.12, reached=0.014)]

    def _samples(self, point: Point) -> int:
        values = {**self._request.scenario.parameters, **point.values}
        return int(values.get("samples", 10_240)) * int(values.get("batch", 1))

    @property
    def _points(self) -> tuple[Point, ...]:
        sweep: Sweep | None = self._request.sweep
        if sweep is None:
            return (Point(0),)
        names = [axis.parameter for axis in sweep.axes]
        places = itertools.product(*(axis.values for axis in sweep.axes))
        return tuple(Point(i, dict(zip(names, place, strict=True))) for i, place in enumerate(places))

    def _begin(self) -> Iterable[Event]:
        r = self._request
        yield RunStarted(
            run=r.id, scenario=r.scenario, arms=r.arms, points=self._points, budget=r.budget,
            machine=self._machine, at="2026-01-05T10:00:00Z", preset=r.preset, sweep=r.sweep,
            worker=r.worker, zygote=r.zygote,
        )  # fmt: skip
        why = self._machine.no_gpu or "there is no such device"
        for arm in self._broken:
            yield ArmStatus(run=r.id, arm=arm.id, status="failed", reason=BROKEN, error=("ValueError",))
        for arm in r.arms:
            if arm not in self._live and arm not in self._broken:
                yield ArmStatus(
                    run=r.id, arm=arm.id, status="unavailable", reason=f"no GPU is visible: {why}"
                )

    def _prepare(self, arm: Arm) -> Iterable[Event]:
        run, first = self._request.id, {"eager": 0.021, "graph": 0.31, "xla": 1.9}[arm.mode]
        yield Progress(run=run, stage="warming up", done=0.4, total=1.0, unit="s", arm=arm.id)
        yield ArmStatus(run=run, arm=arm.id, status="ok", device=arm.device)
        for point in self._points:
            steady = cost(arm, self._samples(point))
            yield FirstCalls(run=run, arm=arm.id, point=point.index, first_s=first, second_s=1.3 * steady)
            blocks = tuple(steady * share for share in (1.2, 1.1, 1.05))
            yield WarmUp(run=run, arm=arm.id, point=point.index, samples_s=blocks)
            yield WarmedUp(run=run, arm=arm.id, point=point.index, seconds=1.0, calls=900, warm=True)

    def _round(self, index: int) -> Event:
        blocks = []
        for point in self._points:
            for arm in self._live:
                spike = 1.35 if self._rng.random() < 0.03 else 1.0
                sample = (
                    self._scale * cost(arm, self._samples(point)) * spike * self._rng.lognormvariate(0, 0.018)
                )
                blocks.append(Block(arm.id, point.index, 16, 16 * sample, 1.12 * sample))
        return Round(
            run=self._request.id, index=index, blocks=tuple(blocks), elapsed_s=0.12 * (index + 1),
            timed_s=0.11, canary_s=2e-4,
        )  # fmt: skip

    def _after(self) -> Iterable[Event]:
        run = self._request.id
        for arm in self._live:
            yield Placement(run=run, arm=arm.id, nodes=tuple(nodes(arm)))
            found = account(**phases(arm, cost(arm, self._samples(Point(0)))))
            yield Accounted(run=run, arm=arm.id, point=0, account=found)
        if self._live:
            message = "2 of 24 blocks lie beyond three quartile ranges"
            yield Caveat(run=run, arm=self._live[0].id, code="outliers", message=message)


def phases(arm: Arm, total: float) -> dict[str, float]:
    """Divide the time of a call into typical parts."""
    dispatch = {"eager": 0.81, "graph": 0.22, "xla": 0.18}[arm.mode] * total
    if arm.input == "copied":
        rest = total - dispatch
        parts = {"copy_in": 0.3 * rest, "compute": 0.4 * rest, "copy_out": 0.28 * rest}
        return {"dispatch": dispatch, **parts, "not_known": 0.02 * rest}
    return {"dispatch": dispatch, "compute": 0.97 * total - dispatch, "not_known": 0.03 * total}


def nodes(arm: Arm) -> Iterator[Node]:
    yield Node("stft/frame/GatherV2", "GatherV2", arm.device, dtype="float32", bytes=41_000)
    yield Node("stft/mul", "Mul", arm.device, dtype="float32", bytes=79_872)
    yield Node("stft/rfft", "RFFT", arm.device, dtype="complex64", bytes=80_184)
    if family(arm.device) == "GPU":
        yield Node(
            "stft/rfft/fft_length", "Const", "CPU:0", dtype="int32", requested=arm.device,
            reason="its output lives in host memory: the GPU kernel reads it there",
        )  # fmt: skip
    if arm.input == "copied":
        yield Node("signal", "_Send", "CPU:0", kind="copy", to=arm.device, bytes=40_960)
    yield Node("folded", "Const", arm.device, kind="folded", count=76)


def _profile() -> Profile:
    """Return a profile of two calls of an STFT on the CPU: dispatch in one thread, kernels in another."""
    spans = []
    for call in range(2):
        at = call * 5.2e-4
        spans.append(Span(0, at, 5.0e-4, "call", "python"))
        spans.append(Span(0, at + 4e-5, 1.1e-4, "tf.function", "dispatch"))
        for index, (name, length) in enumerate([("GatherV2", 6e-5), ("Mul", 4e-5), ("RFFT", 1.9e-4)]):
            spans.append(Span(1, at + 1.6e-4 + index * 7e-5, length, name, "compute"))
    return Profile(
        workload="stft", arm="cpu0.graph.resident.float32", device="CPU:0", calls=2, step_s=5.2e-4,
        measured_s=4.8e-4, ops_s=2.9e-4, rest="dispatch of the function and Python around it",
        phases=(PhaseTime(phase="compute", seconds=2.9e-4, share=0.56),
                PhaseTime(phase="dispatch", seconds=1.5e-4, share=0.29),
                PhaseTime(phase="python", seconds=8e-5, share=0.15)),
        devices=(DeviceTime(device="CPU:0", seconds=2.9e-4, share=0.56),),
        ops=(OpTime(op="RFFT", name="stft/rfft", device="CPU:0", phase="compute", count=1, seconds=1.9e-4, busy_s=1.9e-4),
             OpTime(op="GatherV2", name="stft/frame/GatherV2", device="CPU:0", phase="compute", count=1, seconds=6e-5,
                    busy_s=6e-5),
             OpTime(op="Mul", name="stft/mul", device="CPU:0", phase="compute", count=1, seconds=4e-5, busy_s=4e-5)),
        lanes=(Lane("python", "CPU"), Lane("tf_Compute", "CPU")), spans=tuple(spans),
    )  # fmt: skip


PROFILE = _profile()
FORECAST = ScenarioExplanation(
    workload="stft", gpu_visible=True, no_gpu="", arms=(), sentence="A GPU would run all 4 ops.",
    forecast=(
        ForecastRow(op="RFFT", dtype="float32", gpu=True, code="kernel", reason="has a GPU kernel", evidence=""),
        ForecastRow(op="Mul", dtype="float32", gpu=True, code="kernel", reason="has a GPU kernel", evidence="",
                    count=2),
        ForecastRow(op="DecodeCompressed", dtype="string", gpu=False, code="no-gpu-kernel",
                    reason="no GPU kernel in this build", evidence="kernel registry"),
    ),
)  # fmt: skip


class ScriptedRunner:
    """Plays scripts as fast as the event loop allows.

    hold: number of rounds after which a run pauses until the test cancels or releases it. warm: become ready
    without a request.
    """

    def __init__(
        self,
        on_event: Callable[[Event], None],
        machine: Machine = GPU_MACHINE,
        *,
        rounds: int = 24,
        hold: int | None = None,
        warm: bool = True,
    ) -> None:
        self._on_event, self.answers = on_event, machine
        self._rounds, self.hold, self._warm = rounds, hold, warm
        self.machine: Machine | None = None
        self.measured: list[Measure] = []
        self.sent: list[Request] = []
        self.cancelled: list[str] = []
        self.closed = False
        self.declares: dict[str, Declaration] = {}
        self.lacking: dict[str, tuple[str, ...]] = {}
        """For each function, the arguments whose shapes the user must type."""
        self.suggested: tuple[str, ...] = ()
        self.failing: tuple[str, ...] = ()
        self.holding = False
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._go = asyncio.Event()

    @property
    def machines(self) -> dict[str, Machine]:
        return {"": self.machine} if self.machine is not None else {}

    @property
    def busy(self) -> bool:
        return any(not task.done() for task in self._tasks.values())

    async def start(self) -> None:
        self._on_event(Hello(protocol=1, tuilab="0.1.0", pid=4242, host=self.answers.host))
        self._on_event(Warming(stage="importing TensorFlow", elapsed_s=0.0))
        for text in WARMING:
            self._on_event(Log(text=text, level="warning" if text.startswith("W") else "info"))
        if self._warm:
            self.ready()

    def ready(self) -> None:
        self.machine = self.answers
        self._on_event(Ready(machine=self.answers, import_s=2.1, start_s=0.2))

    async def send(self, request: Request) -> None:
        self.sent.append(request)
        if isinstance(request, Measure):
            await self.measure(request)
        elif isinstance(request, Cancel):
            await self.cancel(request.id)
        elif isinstance(request, Declare):
            asyncio.get_running_loop().call_soon(self._declare, request)
        elif isinstance(request, Ask):
            asyncio.get_running_loop().call_soon(self._answer, request)

    def _declare(self, request: Declare) -> None:
        name = request.file.rpartition(":")[2]
        declaration, lacking = self.declares.get(name), self.lacking.get(name, ())
        if lacking and not request.opening.inputs:
            refused = Refused(request=request.id, message="no known shape", where="file", lacking=lacking)
            refused = msgspec.structs.replace(refused, suggested=self.suggested)
            self._on_event(refused)
        elif declaration is None:
            self._on_event(Refused(request=request.id, message=f"{request.file}: no such file", where="file"))
        else:
            self._on_event(Declared(request=request.id, file=request.file, declaration=declaration))

    def _answer(self, request: Ask) -> None:
        answers = {"profile": PROFILE, "explain-scenario": FORECAST}
        if request.kind not in answers:
            self._on_event(Refused(request=request.id, message=f"no answer to {request.kind}"))
            return
        body = msgspec.Raw(msgspec.json.encode(answers[request.kind]))
        self._on_event(Answer(request=request.id, kind=request.kind, body=body))

    async def measure(self, request: Measure) -> None:
        self.measured.append(request)
        self._tasks[request.id] = asyncio.ensure_future(self._play(request))

    def let_go(self) -> None:
        self._go.set()

    async def _play(self, request: Measure) -> None:
        held = 0
        self.holding = False
        for batch in self._batches(request):
            for event in batch:
                self._on_event(event)
            held += any(isinstance(event, Round) for event in batch[:1])
            if held == self.hold and not self._go.is_set():
                self.holding = True
                await self._go.wait()
                self.holding = False
            await asyncio.sleep(0)

    def _batches(self, request: Measure) -> Iterator[list[Event]]:
        return Script(request, self.answers, self._rounds, failing=self.failing).batches()

    async def renew(self) -> None:
        """Does nothing: a scripted run needs no process."""

    async def cancel(self, run: str) -> None:
        self.cancelled.append(run)
        task = self._tasks.get(run)
        if task is not None and not task.done():
            task.cancel()
            self.holding = False
            self._on_event(Finished(run=run, status="cancelled"))

    async def close(self) -> None:
        self.closed = True
        for task in self._tasks.values():
            task.cancel()

    def kill_now(self) -> None:
        self.closed = True
