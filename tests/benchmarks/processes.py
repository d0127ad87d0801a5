"""Measures why processes differ: fresh processes compared with processes forked from several zygotes, over
several minutes.

python -m tests.benchmarks.processes FILE [ROUNDS] [--hogs N] [--forks]    # about 30 s a round; adds to FILE
python -m tests.benchmarks.processes FILE --report

A *zygote* has imported TensorFlow, started no thread or device, and forks. Each round measures, in random
order, five fresh processes and one fork of each of five zygotes. Every run of this program creates new
zygotes, so that a FILE filled by several runs separates minutes, zygotes and processes. Each process measures
five arms like the short processes of a budget: eager, graph and XLA of a small STFT, a matmul, an input
pipeline. With --forks no fresh process is measured, so that a file separates zygotes better from their forks.
"""

import json
import math
import os
import random
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.benchmarks.hogs import hogs

ZYGOTES = 5
WARM_S, BLOCKS, BLOCK_S = 0.15, 10, 0.01
DRAWS = 500


def arms(tf: Any) -> dict[str, Callable[[], object]]:
    signal = tf.random.stateless_normal((16_384,), seed=(1, 2))
    square = tf.random.stateless_normal((256, 256), seed=(3, 4))

    def stft() -> object:
        return tf.abs(tf.signal.stft(signal, 512, 256, 512))

    graph, xla = tf.function(stft), tf.function(stft, jit_compile=True)
    data = tf.data.Dataset.range(10**9).map(lambda i: tf.cast(i, tf.float32) * 2).batch(64)
    feed = iter(data)
    return {
        "eager": stft,
        "graph": graph,
        "xla": xla,
        "matmul": lambda: tf.matmul(square, square),
        "pipeline": lambda: next(feed),
    }


def measured() -> dict[str, float]:
    import tensorflow as tf

    out, now = {}, time.perf_counter
    for name, call in arms(tf).items():
        begun, calls = now(), 0
        call()
        begun = now()
        while now() - begun < WARM_S:
            call()
            calls += 1
        each = max(1, math.ceil(BLOCK_S / ((now() - begun) / calls)))
        blocks = []
        for _ in range(BLOCKS):
            start = now()
            for _ in range(each):
                call()
            blocks.append((now() - start) / each)
        out[name] = statistics.median(blocks)
    return out


def zygote() -> None:
    """Fork a child for each line of standard input. The child measures, prints its figures and exits."""
    import gc

    import tensorflow  # noqa: F401

    gc.freeze()
    print("ready", flush=True)
    for _ in sys.stdin:
        pid = os.fork()
        if not pid:
            print(json.dumps(measured()), flush=True)
            os._exit(0)
        os.waitpid(pid, 0)


def _start(role: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.benchmarks.processes", role],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
    )


def _fresh() -> dict[str, float]:
    with _start("--fresh") as process:
        assert process.stdout is not None
        return json.loads(process.stdout.read())


def _forked(zygote: subprocess.Popen[str]) -> dict[str, float]:
    assert zygote.stdin is not None and zygote.stdout is not None
    zygote.stdin.write("\n")
    zygote.stdin.flush()
    return json.loads(zygote.stdout.readline())


def collect(file: Path, rounds: int, beside: int, forks: bool) -> None:
    minute = time.time()
    zygotes = [_start("--zygote") for _ in range(ZYGOTES)]
    try:
        for each in zygotes:
            assert each.stdout is not None
            each.stdout.readline()
        for _ in range(rounds):
            turns = [("fresh", -1)] * (0 if forks else ZYGOTES) + [("forked", n) for n in range(ZYGOTES)]
            random.shuffle(turns)
            for kind, n in turns:
                begun = time.monotonic()
                found = _fresh() if kind == "fresh" else _forked(zygotes[n])
                row = {"minute": minute, "kind": kind, "zygote": n, "hogs": beside}
                with file.open("a") as out:
                    out.write(json.dumps(row | {"took_s": time.monotonic() - begun, "arms": found}) + "\n")
    finally:
        for process in zygotes:
            process.kill()
            process.wait()


Row = dict[str, Any]


def report(rows: Sequence[Row]) -> str:
    """Return a table with a row per arm: how much processes differ and why, with 95% bootstrap intervals.

    The bootstrap resamples rows only within the same minute.
    """
    lines = [
        "| arm | fresh scatter | forks scatter | of it between zygotes | forked / fresh |",
        "|" + "---|" * 5,
    ]
    for arm in rows[0]["arms"]:
        shares, ratios = [], []
        draw = random.Random(1)
        for _ in range(DRAWS):
            drawn = _drawn(rows, draw)
            shares.append(_share(drawn, arm))
            ratios.append(_ratio(drawn, arm))
        scatters = [math.sqrt(_scatter(rows, arm, kind)) for kind in ("fresh", "forked")]
        lines.append(
            f"| {arm} | {scatters[0]:.1%} | {scatters[1]:.1%} | {_share(rows, arm):.0%} {_span(shares, '.0%')} "
            f"| {_ratio(rows, arm):.3f} {_span(ratios, '.3f')} |"
        )
    return "\n".join(lines)


def _span(values: list[float], form: str) -> str:
    ascending, n = sorted(values), len(values)
    return f"[{ascending[n // 40]:{form}} {ascending[-n // 40]:{form}}]"


def _groups(rows: Sequence[Row], arm: str, kind: str, *by: str) -> list[list[float]]:
    found: dict[tuple[Any, ...], list[float]] = defaultdict(list)
    for row in rows:
        if row["kind"] == kind:
            found[tuple(row[name] for name in by)].append(math.log(row["arms"][arm]))
    return list(found.values())


def _scatter(rows: Sequence[Row], arm: str, kind: str) -> float:
    return statistics.fmean(statistics.variance(g) for g in _groups(rows, arm, kind, "minute") if len(g) > 1)


def _share(rows: Sequence[Row], arm: str) -> float:
    """Return the share of the forks' variance within a minute that comes from differences between zygotes, by
    an analysis of variance. The share is at least 0.
    """
    within, between = [], []
    for minute in {row["minute"] for row in rows}:
        of_minute = [row for row in rows if row["minute"] == minute]
        groups = [g for g in _groups(of_minute, arm, "forked", "zygote") if len(g) > 1]
        if len(groups) > 1:
            own = statistics.fmean(statistics.variance(g) for g in groups)
            size = statistics.fmean(len(g) for g in groups)
            within.append(own)
            between.append(statistics.variance([statistics.fmean(g) for g in groups]) - own / size)
    apart = max(0.0, statistics.fmean(between))
    return apart / (apart + statistics.fmean(within))


def _ratio(rows: Sequence[Row], arm: str) -> float:
    """Return the ratio of a fork's time to a fresh process's time in the same minute."""
    both = [
        [statistics.fmean(g) for g in _groups([r for r in rows if r["minute"] == m], arm, kind, "minute")]
        for m in sorted({row["minute"] for row in rows})
        for kind in ("fresh", "forked")
    ]
    pairs = [(a[0], b[0]) for a, b in zip(both[::2], both[1::2], strict=True) if a and b]
    return math.exp(statistics.fmean(b - a for a, b in pairs)) if pairs else math.nan


def _drawn(rows: Sequence[Row], draw: random.Random) -> list[Row]:
    """Return resampled rows: zygotes and fresh processes within each minute, forks within each zygote."""
    units: dict[tuple[float, int], list[Row]] = defaultdict(list)
    for row in rows:
        units[row["minute"], row["zygote"]].append(row)
    out: list[Row] = []
    for minute in {minute for minute, _ in units}:
        fresh = units.get((minute, -1), [])
        out += draw.choices(fresh, k=len(fresh)) if fresh else []
        zygotes = [unit for unit in units if unit[0] == minute and unit[1] >= 0]
        for number, unit in enumerate(draw.choices(zygotes, k=len(zygotes))):
            out += [row | {"zygote": number} for row in draw.choices(units[unit], k=len(units[unit]))]
    return out


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--fresh"]:
            print(json.dumps(measured()))
        case ["--zygote"]:
            zygote()
        case [name, "--report"]:
            print(report([json.loads(line) for line in Path(name).read_text().splitlines()]))
        case [name, *rest]:
            numbers = [int(word) for word in rest if word.isdigit()]
            beside = int(rest[rest.index("--hogs") + 1]) if "--hogs" in rest else 0
            with hogs(beside, seed=0):
                collect(Path(name), numbers[0] if numbers else 4, beside, "--forks" in rest)
