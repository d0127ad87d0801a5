"""Builds machines and runs. A test states only the values that matter to it."""

import random
from typing import Any

from tuilab.model import events as e
from tuilab.model.account import NOT_KNOWN, Account, Part, in_order
from tuilab.model.arms import Arm
from tuilab.model.machine import Device, Machine
from tuilab.model.profile import Profile
from tuilab.model.run import RunState
from tuilab.model.scenario import BUDGET, Scenario

EAGER, GRAPH, XLA = MODES = tuple(Arm("CPU:0", mode) for mode in ("eager", "graph", "xla"))
GPU_GRAPH = Arm("GPU:0", "graph")
CPU, GPU = Device("CPU:0"), Device("GPU:0", "a GPU")


def machine(**about: Any) -> Machine:
    usual = {
        "host": "h",
        "cpu": "c",
        "cores": 2,
        "memory": 1,
        "os": "o",
        "python": "3.11",
        "tensorflow": "2.21.0",
    }
    return Machine(**{**usual, **about})


MACHINE = machine()


def started(run: str = "r1", *arms: Arm, **about: Any) -> e.RunStarted:
    usual = {
        "scenario": Scenario("stft", {"samples": 256}), "points": (e.Point(0),), "budget": BUDGET["quick"],
        "machine": MACHINE, "at": "2026-11-21T00:00:00Z", "preset": "stft-small",
    }  # fmt: skip
    return e.RunStarted(run=run, arms=arms or (GRAPH,), **{**usual, **about})


def rounds(run: str, count: int, *arms: Arm, seconds: float = 1e-3, point: int = 0) -> list[e.Round]:
    blocks = tuple(e.Block(arm.id, point, 10, 10 * seconds) for arm in arms or (GRAPH,))
    return [e.Round(run=run, index=i, blocks=blocks, elapsed_s=i / 10) for i in range(count)]


def profile(arm: str = GRAPH.id, **about: Any) -> Profile:
    usual = {
        "workload": "stft",
        "device": "CPU:0",
        "calls": 1,
        "step_s": 1e-3,
        "measured_s": 1e-3,
        "ops_s": 0.0,
    }
    empty = {"phases": (), "devices": (), "ops": (), "lanes": (), "spans": (), "rest": ""}
    return Profile(arm=arm, **{**usual, **empty, **about})


def account(total_s: float | None = None, halves: dict[str, float] | None = None, **parts: float) -> Account:
    """Return the account of a profiled call with these parts. The rest of the total is unknown."""
    total = sum(parts.values()) if total_s is None else total_s
    rest = total - sum(parts.values())
    whole = {**parts, NOT_KNOWN: rest} if rest > 1e-9 * total else parts
    return Account(
        total_s=total,
        calls=20,
        parts=tuple(
            Part(
                phase=name,
                seconds=whole[name],
                source="remainder" if name == NOT_KNOWN else "profiled",
                ci95_s=(whole[name] - halves[name], whole[name] + halves[name])
                if halves and name in halves
                else None,
            )
            for name in in_order(whole)
            if whole[name]
        ),
    )


def regular(count: int, seed: int = 1, run: str = "r1") -> list[e.Round]:
    """Return `count` noisy rounds of the three modes. The order of the modes varies between rounds."""
    rng, out = random.Random(seed), []
    for index in range(count):
        blocks = tuple(
            e.Block(arm.id, 0, 16, rng.lognormvariate(-7, 0.1), rng.lognormvariate(-9, 0.1))
            for arm in rng.sample(MODES, len(MODES))
        )
        timed = sum(block.seconds + (block.latency_s or 0.0) for block in blocks)
        out.append(
            e.Round(run=run, index=index, blocks=blocks, elapsed_s=index / 7, timed_s=timed, canary_s=1e-5)
        )
    return out


def regular_run(run: str = "r1", count: int = 30, seed: int = 1) -> list[e.Event]:
    return [started(run, *MODES), *regular(count, seed, run), e.Finished(run=run, status="ok")]


def run_of(run: str, count: int = 3, *arms: Arm, seconds: float = 1e-3, **about: Any) -> list[e.Event]:
    told = rounds(run, count, *arms, seconds=seconds)
    return [started(run, *arms, **about), *told, e.Finished(run=run, status="ok")]


def folded(*events: e.Event) -> RunState:
    state = RunState()
    for event in events:
        state.apply(event)
    return state
