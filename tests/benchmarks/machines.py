"""Measures the comparison of 1,000 recorded machines with 20 presets each: the time to read the history, to
show the table, and to filter it.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from tests.benchmarks.budget import Row, below, spread
from tuilab.analysis.machines import compared, search, text_of
from tuilab.history.machine_summaries import keep, latest
from tuilab.history.store import Store
from tuilab.lab.machines import sum_up
from tuilab.model.machine_summary import Best, Crossed, MachineSummary

MACHINES, PRESETS, TIMES = 1_000, 20, 5
OPEN_MS, FILTER_MS = 300.0, 100.0


def measure() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        store = Store.open(Path(folder))
        _fill(store)
        opened = _timed(lambda: _open(store))
        machine_summaries = latest(store)
        texts = [text_of(summary) for summary in machine_summaries]
        filtered = _timed(lambda: compared(search(machine_summaries, texts, "node-09 refuted")))
        store.close()
    what = f"{MACHINES:,} machines × {PRESETS} presets"
    return [
        below(
            f"hosts of {what} opened", opened[TIMES // 2], OPEN_MS, " ms",
            "from the open store to the compared table with its search texts; median of five",
            0, **spread(opened),
        ),
        below(
            f"hosts of {what} filtered", filtered[TIMES // 2], FILTER_MS, " ms",
            "two words over every line, the table compared again; median of five",
            0, **spread(filtered),
        ),
    ]  # fmt: skip


def _open(store: Store) -> None:
    sum_up(store)
    machine_summaries = latest(store)
    assert len(machine_summaries) == MACHINES * PRESETS
    compared(machine_summaries)
    for summary in machine_summaries:
        text_of(summary)


def _timed(act: Callable[[], object]) -> list[float]:
    spent = []
    for _ in range(TIMES):
        begun = time.perf_counter()
        act()
        spent.append(1e3 * (time.perf_counter() - begun))
    return sorted(spent)


def _fill(store: Store) -> None:
    connection = store.connection
    connection.execute("PRAGMA synchronous = OFF")
    for preset in range(PRESETS):
        for machine in range(MACHINES):
            summary = _summary(f"preset-{preset:02}", machine)
            connection.execute(
                "INSERT INTO runs (run, at, preset, workload, host, budget, scenario, machine, status, rounds) "
                "VALUES (?, ?, ?, 'stft', ?, 'quick', x'', x'', 'ok', 20)",
                (summary.run, summary.at, summary.preset, summary.machine),
            )
            keep(store, summary.run, [summary])


def _summary(preset: str, machine: int) -> MachineSummary:
    cpu_s, gpu_s = 1e-3 * (1 + machine % 7), 2e-3 * (1 + machine % 5)
    parameters = {"samples": 256, "batch": 1, "frame_length": 512, "frame_step": 256, "dtype": "float32"}
    return MachineSummary(
        run=f"{preset}-{machine:04}-5d1c2b7e9f3a4c6d8e0f",
        at=f"2026-11-{1 + machine % 28:02}T00:00:00Z",
        preset=preset,
        machine=f"node-{machine:04}",
        origin=f"gpu-{machine}",
        cpu="AMD EPYC 9554 64-Core Processor",
        gpus=("NVIDIA H200",) if machine % 3 else (),
        tensorflow="2.21.0" if machine % 9 else "2.20.0",
        python="3.11.7",
        driver="570.86",
        budget="quick",
        parameters=msgspec.json.encode(parameters).decode(),
        on_cpu=Best("CPU graph", cpu_s, cpu_s * 0.99, cpu_s * 1.01),
        on_gpu=Best("GPU graph", gpu_s, gpu_s * 0.99, gpu_s * 1.01) if machine % 3 else None,
        crossed=Crossed("samples", "GPU graph", "CPU graph", "found", 4e3, 3e3, 5e3),
        claims="0123456789ab",
        verdicts=("confirmed" if gpu_s < cpu_s else "refuted", "untestable"),
    )
