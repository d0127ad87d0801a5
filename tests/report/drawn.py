"""Runs of every kind, drawn at random: arms, sweeps, hosts, processes, failures, phases, placements,
roofs.
"""

import math
import random

from msgspec.structs import replace

from tests import made
from tests.analysis.made_runs import fact, failed, finish, placed, unavailable
from tests.made import CPU, started
from tuilab.model import events as e
from tuilab.model.account import PHASE_HELP
from tuilab.model.arms import MODES, Arm, ArmPattern
from tuilab.model.claims import (
    Claim,
    Condition,
    Crosses,
    FactIs,
    Faster,
    KernelFor,
    PhaseShare,
    PlacedOn,
    Raises,
    SamePlacement,
    ShareGrows,
    WaitsForInput,
)
from tuilab.model.machine import Device
from tuilab.model.models import LayerWork, ModelInfo, ModelInput
from tuilab.model.roofline import DeviceRoofs, Kernels, LinkRoof, MemoryRoof, Roofs, Stay, Work
from tuilab.model.run import RunState
from tuilab.model.scenario import BUDGET, Axis, Scenario, Sweep

SIZES = (1, 16, 256, 4_096, 65_536)
HOSTS = ((""), ("", "far"))
REGISTRY = {"MatMul": frozenset({"float32:GPU", "float32:CPU", "float64:CPU"})}
_GPU, _EMULATED = Device("GPU:0", "NVIDIA L4", "8.9", 24 << 30), Device("GPU:0", "EMULATED GPU")
_REASONS = ("it has no GPU kernel for int32", "the code asks for it", "no GPU is visible")


class Heard(RunState):
    """A run's state that keeps the run's events."""

    def apply(self, event: e.Event) -> bool:
        vars(self).setdefault("heard", []).append(event)
        return super().apply(event)


def drawn_events(seed: int) -> list[e.Event]:
    return list(vars(drawn(seed))["heard"])


def drawn(seed: int) -> RunState:
    """Return a random run; the same seed gives the same run."""
    draw = random.Random(seed)
    gpu = draw.choice((_GPU, _GPU, _EMULATED, None))
    hosts = ("", "far") if draw.random() < 0.2 else ("",)
    devices = ("CPU:0", "GPU:0") if draw.random() < 0.8 else ("CPU:0",)
    dtypes = draw.choice((("float32",), ("float32",), ("float64",), ("float32", "float64")))
    variants = draw.choice((("",), ("",), ("", "split"), ("inference", "training")))
    kinds = [
        Arm(device, mode, where, draw.choice(dtypes), variant)
        for device in devices
        for mode in MODES
        for where in (("resident", "copied") if device != "CPU:0" else ("resident",))
        for variant in variants
    ]
    chosen = draw.sample(kinds, min(len(kinds), draw.randint(2, 6) // len(hosts) + 1))
    arms = sorted((replace(arm, host=host) for arm in chosen for host in hosts), key=lambda arm: arm.id)
    if draw.random() < 0.2:
        arms += [Arm(a.device, a.mode, a.input, a.dtype, a.variant, a.host, together=True) for a in arms[:2]]
    axes = [Axis("batch", SIZES[: draw.randint(2, 5)])] if draw.random() < 0.5 else []
    if axes and draw.random() < 0.2:
        axes.append(Axis("side", (8, 32)))
    grid = [dict(zip([a.parameter for a in axes], at, strict=True)) for at in _grid(axes)]
    points = tuple(e.Point(i, values) for i, values in enumerate(grid))
    machine = made.machine(
        devices=(CPU, gpu) if gpu else (CPU,), no_gpu="" if gpu else "no driver", cores=8, memory=16 << 30
    )
    state = Heard()
    state.apply(
        started(
            "r", *arms, scenario=Scenario("w", {"batch": 256, "side": 8}), points=points, machine=machine,
            sweep=Sweep(axes=tuple(axes)) if axes else None, budget=BUDGET[draw.choice(("quick", "standard", "publish"))],
            preset="",
        )
    )  # fmt: skip
    apart = draw.random() < 0.5
    for host in hosts if len(hosts) > 1 else ():
        here = replace(machine, environment=f"env-{host}", settings=("TF_XLA_FLAGS",)) if apart else machine
        state.apply(e.MachineJoined(run="r", host=host, machine=here))
    if draw.random() < 0.7:
        state.apply(e.RoofsKnown(run="r", roofs=_roofs(draw, machine.key, bool(gpu))))
    if draw.random() < 0.3:
        _model(draw, state)
    able = [arm for arm in arms if gpu or arm.device == "CPU:0"]
    unavailable(state, *(arm for arm in arms if arm not in able), reason="no GPU is visible (no driver)")
    if len(able) > 2 and draw.random() < 0.4:
        failed(state, able.pop(), "InternalError: out of memory", ("InternalError", "OpError", "Exception"))
    _measure(draw, state, able)
    for arm in able:
        for point in points:
            _known(draw, state, arm, point)
        if draw.random() < 0.3:
            fact(state, "traces", draw.randint(1, 9), "the function was traced", arm)
        if draw.random() < 0.3:
            caveat = e.Caveat(
                run="r", arm=arm.id, code="warm-up", message="not yet stable", point=draw.choice((None, 0))
            )
            state.apply(caveat)
    if draw.random() < 0.8:
        finish(state, draw.choice(("ok", "ok", "ok", "cancelled", "failed")), "the worker ended")
    return state


def _grid(axes: list[Axis]) -> list[tuple[int, ...]]:
    if not axes:
        return [()]
    return [(value, *rest) for rest in _grid(axes[1:]) for value in axes[0].values]


def _measure(draw: random.Random, state: RunState, arms: list[Arm]) -> None:
    costs = {
        arm: (10 ** draw.uniform(-5, -2), 10 ** draw.uniform(-9, -5), draw.choice((0.002, 0.02, 0.2)))
        for arm in arms
    }
    drift, late = draw.choice((0.0, 0.0, 0.02)), draw.choice((0.0, 0.1))
    processes = draw.choice((1, 1, 1, 8))
    for process in range(processes):
        if process:
            state.apply(_again(state, process))
        pace = {arm: math.exp(draw.gauss(0, 0.03)) for arm in arms}
        for arm in arms:
            state.apply(
                e.ArmStatus(
                    run="r", arm=arm.id, status="ok", device=arm.device if draw.random() < 0.9 else "CPU:0"
                )
            )
        for point in state.points if not process else ():
            for arm in arms:
                first = 10 ** draw.uniform(-2, 0.5)
                state.apply(
                    e.FirstCalls(run="r", arm=arm.id, point=point.index, first_s=first, second_s=first / 50)
                )
                state.apply(
                    e.WarmedUp(
                        run="r", arm=arm.id, point=point.index, seconds=0.2, calls=9, warm=draw.random() < 0.8
                    )
                )
        count = draw.choice((1, 4, 12, 30)) if processes == 1 else 6
        for index in range(count):
            blocks = []
            for point in state.points:
                size = int(point.values.get("batch", 256))
                for arm, (fixed, each, noise) in costs.items():
                    seconds = (
                        (fixed + each * size) * pace[arm] * math.exp(draw.gauss(0, noise) + drift * index)
                    )
                    seconds *= 10 if draw.random() < late / 5 else 1
                    if draw.random() < 0.97:
                        blocks.append(e.Block(arm.id, point.index, 3, 3 * seconds, 1.5 * seconds))
            state.apply(
                e.Round(
                    run="r", index=state.rounds, blocks=tuple(draw.sample(blocks, len(blocks))), elapsed_s=0.1 * (state.rounds + 1),
                    canary_s=1e-3 * math.exp(draw.gauss(0, 0.01 + drift)), timed_s=0.05 * (index + 1), worker=process,
                )
            )  # fmt: skip
    busy = draw.choice((0.0, 0.0, 2.5))
    windows = tuple(e.HostWindow(i, 1, busy if i % 3 else 0.1, 1e-3) for i in range(state.rounds))
    state.apply(e.HostWatched(run="r", windows=windows))


def _again(state: RunState, process: int) -> e.RunStarted:
    assert state.scenario is not None and state.budget is not None and state.machine is not None
    arms = tuple(arm.arm for arm in state.arms.values())
    return started(
        "r", *arms, scenario=state.scenario, points=tuple(state.points), budget=state.budget,
        machine=state.machine, worker=process, sweep=state.sweep, preset=state.preset,
    )  # fmt: skip


def _known(draw: random.Random, state: RunState, arm: Arm, point: e.Point) -> None:
    """Add what a worker reports about a call: its phases, the placement of its ops, and its work."""
    cell = state.arms[arm.id].cells.get(point.index)
    if cell is None or not cell.samples:
        return
    if draw.random() < 0.8:
        names = draw.sample(sorted(PHASE_HELP.keys() - {"not_known"}), draw.randint(2, 6))
        weights = [draw.random() ** 3 for _ in names]
        whole = cell.samples[0] * draw.uniform(0.8, 1.2)
        spent = {name: whole * weight / sum(weights) for name, weight in zip(names, weights, strict=True)}
        halves = {name: seconds * draw.uniform(0.01, 0.4) for name, seconds in spent.items()}
        account = made.account(whole * draw.choice((1.0, 1.0, 1.3)), halves, **spent)
        state.apply(e.Accounted(run="r", arm=arm.id, point=point.index, account=account))
    if draw.random() < 0.8:
        placed(state, arm, *(_node(draw, arm, i) for i in range(draw.randint(1, 6))), point=point.index)
    if draw.random() < 0.7:
        state.apply(
            e.WorkKnown(
                run="r", arm=arm.id, point=point.index, work=_work(draw, int(point.values.get("batch", 256)))
            )
        )
    if state.model is not None and draw.random() < 0.9:
        layers = tuple(
            LayerWork(
                name=f"layer_{i}",
                kind="Dense",
                computing=draw.random() / 5,
                work=_work(draw, 1),
                looping=draw.choice((0.0, 0.1)),
            )
            for i in range(4)
        )
        state.apply(e.LayersKnown(run="r", arm=arm.id, point=point.index, layers=layers))


def _node(draw: random.Random, arm: Arm, number: int) -> e.Node:
    host = draw.random() < 0.3
    copy = arm.device != "CPU:0" and draw.random() < 0.25
    return e.Node(
        f"layer_{number}/op", draw.choice(("MatMul", "Add", "StringSplit", "Where")),
        "CPU:0" if host or copy else arm.device, "copy" if copy else "op", arm.device if copy else "",
        requested=arm.device, dtype=draw.choice(("float32", "int32", "string")), reason=draw.choice(_REASONS),
        bytes=draw.randint(0, 10**6), count=draw.choice((1, 1, 20)), gpu=draw.choice((True, False, None)),
        code=draw.choice(("no-kernel", "scope", "")), layer=f"layer_{number}",
    )  # fmt: skip


def _work(draw: random.Random, size: int) -> Work:
    flop, bytes_ = size * 10 ** draw.uniform(3, 8), size * 10 ** draw.uniform(2, 6)
    stays = (
        Stay(
            op="StringSplit",
            runs=2.0,
            reason="no kernel",
            to_host=1e4,
            to_device=2e4,
            seconds=draw.choice((None, 1e-4)),
        ),
    )
    return Work(
        flop=draw.choice((flop, flop, None)), inputs=bytes_, outputs=bytes_ / 4, read=draw.choice((None, bytes_ / 2)),
        state=draw.choice((0.0, 1e6)), host_s=draw.choice((0.0, 0.0, 1e-4)), host_parallel=draw.random() < 0.5,
        kernels=draw.choice((None, 3.0)), serial=draw.choice((0.0, 50.0)), uncounted=draw.choice(((), ("Fancy",))),
        each=draw.choice(((), (Kernels("float32", flop / 2, bytes_, 2.0), Kernels("float32", 10.0, 80.0, 30.0)))),
        stays=stays if draw.random() < 0.2 else (), host_only=draw.random() < 0.05, to_device=draw.choice((0.0, 1e5)),
        does=draw.choice(("",) * 20 + ("inflating",)), least_flop=draw.choice((None, flop / 8)),
    )  # fmt: skip


def _roofs(draw: random.Random, key: str, gpu: bool) -> Roofs:
    def of(factor: float, link: LinkRoof | None) -> DeviceRoofs:
        return DeviceRoofs(
            memory=(MemoryRoof(1 << 18, factor * 2e11), MemoryRoof(1 << 28, factor * 2e10)), triad=factor * 1.9e10,
            peaks={"float32": factor * 3e11, "float64": factor * 1e11}, link=link,
            launch_s={"eager": 6e-6, "graph": 9e-5, "xla": 5e-5}, copied_s={"eager": 9e-6, "graph": 1e-4, "xla": 6e-5},
        )  # fmt: skip

    devices = {"CPU:0": of(1.0, None)}
    if gpu:
        devices["GPU:0"] = of(
            15.0, LinkRoof(latency_s=9e-6, to_device=1.2e10, to_host=draw.choice((None, 1e10)))
        )
    return Roofs(
        machine=key,
        at="2026",
        seconds=3.0,
        sync_s=2e-6,
        devices=devices,
        least=0.07,
        others=draw.choice((0.0, 0.5)),
    )


def _model(draw: random.Random, state: RunState) -> None:
    shape = ModelInput(name="x", dtype="float32", shape=("batch", 8))
    fits = draw.choice((None, 64, 10**6))
    state.apply(
        e.ModelOpened(
            run="r",
            model=ModelInfo(kind="keras", parameters=12_345, inputs=(shape,), batch="batch", fits=fits),
        )
    )


def claims(state: RunState) -> list[Claim]:
    """Return claims of every kind about a run, some true and some false."""
    cpu, gpu, eager, graph = (
        ArmPattern(device="CPU"),
        ArmPattern(device="GPU"),
        ArmPattern(mode="eager"),
        ArmPattern(mode="graph"),
    )
    axis = state.sweep.axes[0].parameter if state.sweep else "batch"
    conditions: list[Condition] = [
        Faster(a=cpu, b=gpu), Faster(a=gpu, b=cpu, by=1.5), Faster(a=graph, b=eager), Faster(a=eager, b=graph, by=3.0),
        PlacedOn(op="MatMul", device="CPU", arms=gpu), PlacedOn(op="Where", device="GPU"),
        KernelFor(op="MatMul", dtype="float64", exists=False), KernelFor(op="MatMul", dtype="float32"),
        Raises(error="OpError"), Raises(error="ValueError", arms=gpu), WaitsForInput(share=0.2), WaitsForInput(share=0.02, arms=cpu),
        PhaseShare(phases=("copy_in", "copy_out"), share=0.1, arms=gpu), PhaseShare(phases=("dispatch",), share=0.3),
        ShareGrows(phases=("compute",), axis=axis), ShareGrows(phases=("copy_in",), axis=axis, arms=gpu),
        Crosses(a=gpu, b=cpu, axis=axis, low=16, high=4_096), Crosses(a=graph, b=eager, axis=axis, low=1, high=100),
        FactIs(fact="traces", value=3, relation="at-least"), FactIs(fact="traces", value=5), SamePlacement(axis=axis),
    ]  # fmt: skip
    return [
        Claim(
            text=type(when).__name__,
            when=when,
            hedged="may" if i % 4 == 3 else "",
            said="much" if i % 3 == 1 else "",
        )
        for i, when in enumerate(conditions)
    ]
