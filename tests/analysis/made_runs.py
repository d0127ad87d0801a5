"""Builds runs from events, for tests of the sentences about runs."""

import math
import random
from collections.abc import Callable, Mapping, Sequence

from tests import made
from tests.made import CPU, GPU, folded, started
from tuilab.model import events as e
from tuilab.model.arms import Arm
from tuilab.model.machine import Machine
from tuilab.model.run import RunState
from tuilab.model.scenario import Axis, Scenario, Sweep

GPU_COPIED = Arm("GPU:0", "graph", "copied")
SIZES = (256, 1_024, 4_096, 16_384, 65_536)

Cost = float | Callable[[int], float]


def machine(gpu: bool = True, no_gpu: str = "") -> Machine:
    return made.machine(devices=(CPU, GPU) if gpu else (CPU,), no_gpu=no_gpu)


def begun(
    arms: Sequence[Arm],
    *,
    gpu: bool = True,
    sizes: Sequence[int] = (),
    no_gpu: str = "",
    axes: Sequence[Axis] = (),
    samples: int = 256,
) -> RunState:
    points: Sequence[e.Point] = [e.Point(i, {"samples": x}) for i, x in enumerate(sizes)] or [e.Point(0)]
    if len(axes) == 2:
        grid = [(x, y) for y in axes[1].values for x in axes[0].values]
        points = [e.Point(i, {axes[0].parameter: x, axes[1].parameter: y}) for i, (x, y) in enumerate(grid)]
    scenario = Scenario("stft", {"samples": samples, "frame_length": 256})
    sweep = Sweep(axes=tuple(axes) or (Axis("samples", tuple(sizes)),)) if sizes or axes else None
    here = machine(gpu, no_gpu)
    return folded(started("r", *arms, scenario=scenario, points=tuple(points), machine=here, sweep=sweep))


def measure(
    state: RunState, costs: Mapping[Arm, Cost], rounds: int = 20, spread: float = 0.01, seed: int = 1
) -> RunState:
    """Add rounds to a run. costs: for each arm, its seconds per call, or a function that returns them for a
    size (`samples`).
    """
    draw = random.Random(seed)
    for _ in range(rounds):
        blocks = []
        for arm, cost in costs.items():
            for point in state.points:
                size = int(point.values.get("samples", 256))
                seconds = (cost(size) if callable(cost) else cost) * math.exp(draw.gauss(0, spread))
                blocks.append(e.Block(arm.id, point.index, 1, seconds, seconds * 1.5))
        state.apply(
            e.Round(run="r", index=state.rounds, blocks=tuple(blocks), elapsed_s=0.1 * (state.rounds + 1))
        )
    for arm in costs:
        state.apply(e.ArmStatus(run="r", arm=arm.id, status="ok", device=arm.device))
    return state


def unavailable(state: RunState, *arms: Arm, reason: str = "no GPU is visible") -> RunState:
    for arm in arms:
        state.apply(e.ArmStatus(run="r", arm=arm.id, status="unavailable", reason=reason))
    return state


def failed(
    state: RunState, arm: Arm, reason: str, error: tuple[str, ...] = (), point: int | None = None
) -> RunState:
    state.apply(e.ArmStatus(run="r", arm=arm.id, status="failed", reason=reason, error=error, point=point))
    return state


def phases(state: RunState, arm: Arm, residual: float = 0.0, point: int = 0, **spent: float) -> RunState:
    found = made.account(sum(spent.values()) + residual, **spent)
    state.apply(e.Accounted(run="r", arm=arm.id, point=point, account=found))
    return state


def placed(state: RunState, arm: Arm, *nodes: e.Node, point: int = 0) -> RunState:
    state.apply(e.Placement(run="r", arm=arm.id, nodes=nodes, point=point))
    return state


def fact(
    state: RunState, name: str, value: bool | int | float | str, text: str = "", arm: Arm | None = None
) -> RunState:
    state.apply(e.Fact(run="r", name=name, value=value, text=text, arm=arm.id if arm else ""))
    return state


def finish(state: RunState, status: e.Ending = "ok", message: str = "") -> RunState:
    state.apply(e.Finished(run="r", status=status, message=message))
    return state
