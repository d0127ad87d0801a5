from collections.abc import Iterator
from pathlib import Path

import msgspec

from tests.tui import data
from tests.tui.scripted import CPU_MACHINE
from tuilab.history.store import Store
from tuilab.model import events as e
from tuilab.model.machine import Machine
from tuilab.model.scenario import BudgetName, Scenario

ARMS = tuple(msgspec.structs.replace(arm, variant="whole") for arm in data.ARMS)
SMALL = {"samples": 256, "frame_length": 256, "frame_step": 128, "fft_length": 256}


def run_events(
    run: str,
    at: str,
    *,
    preset: str = "stft-small",
    machine: Machine = data.MACHINE,
    scale: float = 1.0,
    rounds: int = 24,
    budget: BudgetName = "standard",
    status: str = "ok",
    **values: int,
) -> Iterator[e.Event]:
    """Yield the events of a run. On a machine without a GPU, the GPU arms are unavailable."""
    scenario = Scenario("stft", {**data.SCENARIO.parameters, **SMALL, **values})
    for event in data.events(
        rounds,
        run,
        arms=ARMS,
        scenario=scenario,
        machine=machine,
        preset=preset,
        budget=budget,
        scale=scale,
        seed=run,
    ):
        if isinstance(event, e.RunStarted):
            yield msgspec.structs.replace(event, at=at)
        elif isinstance(event, e.Finished) and status:
            yield msgspec.structs.replace(event, status=status, elapsed_s=rounds * 0.1)
        elif isinstance(event, e.ArmStatus | e.Round):
            yield event


def keep(store: Store, events: Iterator[e.Event], answer: str = "") -> None:
    first, *rest = events
    assert isinstance(first, e.RunStarted)
    store.append(first.run, 0, [e.encode(event).rstrip() for event in (first, *rest)], first)
    if rest and isinstance(rest[-1], e.Finished):
        store.conclude(first.run, rest[-1].status, answer)


NEWER = msgspec.structs.replace(data.MACHINE, tensorflow="2.22.0")


def some(folder: Path) -> Store:
    """Add seven runs of two machines to the history: some tagged, noted, pinned, imported or stopped, one
    slower.
    """
    store = Store.open(folder)
    answer = "CPU graph is fastest: 0.346 ms [0.342 0.349]. GPU graph 0.582 ms, 1.68× slower."
    keep(store, run_events("a1" * 16, "2026-01-02T09:00:00Z"), answer)
    keep(store, run_events("b2" * 16, "2026-01-03T09:30:00Z", scale=1.3), "CPU graph is fastest: 0.45 ms.")
    keep(store, run_events("c3" * 16, "2026-01-04T10:00:00Z", machine=CPU_MACHINE, samples=65_536))
    keep(store, run_events("d4" * 16, "2026-01-04T11:00:00Z", preset="", budget="quick", rounds=8))
    keep(store, run_events("e5" * 16, "2026-01-04T12:00:00Z", rounds=3, status="cancelled"))
    keep(
        store,
        run_events("f6" * 16, "2026-01-05T08:00:00Z", machine=NEWER, preset="stft-medium", samples=4_096),
    )
    keep(store, run_events("07" * 16, "2026-01-05T09:00:00Z", rounds=0, status="failed"))
    store.tag("b2" * 16, "driver-570")
    store.tag("b2" * 16, "nightly")
    store.tag("c3" * 16, "nightly")
    store.note("b2" * 16, "After the new driver.\nThe machine was busy with a build as well.")
    store.pin("a1" * 16, "baseline")
    store.pin("d4" * 16, "ghost")
    store.came_from("c3" * 16, "laptop.jsonl")
    return store
