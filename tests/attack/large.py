"""What large histories cost: `python -m tests.attack.large [SAMPLES] [RUNS]`; each figure from a process of its own.

Runs on any version of the lab that has `tuilab.history.store`, so that before and after come from one script:
`PYTHONPATH=/path/to/the/other/checkout python -P tests/attack/large.py`.
"""

import asyncio
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ARMS, SEED = 6, 1
STEPS = ("make", "open", "replay", "export", "export", "hosts", "hosts", "compare", "fill", "search", "prune")
"""What is done twice has no result kept the first time."""


def events(samples: int):
    """A run of so many samples, without keeping them."""
    from tuilab.model import events as e
    from tuilab.model.arms import Arm
    from tuilab.model.machine import Device, Machine
    from tuilab.model.scenario import BUDGET, Scenario

    arms = tuple(
        Arm("CPU:0", mode, place) for mode in ("eager", "graph", "xla") for place in ("resident", "copied")
    )
    machine = Machine(
        host="h",
        cpu="c",
        cores=4,
        memory=1,
        os="o",
        python="3.11",
        tensorflow="2.21.0",
        devices=(Device("CPU:0"),),
    )
    run = f"{7:032x}"
    yield e.RunStarted(
        run=run, scenario=Scenario("stft", {"samples": 256}), arms=arms, points=(e.Point(0),),
        budget=BUDGET["standard"], machine=machine, at="2026-01-05T10:00:00Z", preset="stft-small",
    )  # fmt: skip
    for arm in arms:
        yield e.ArmStatus(run=run, arm=arm.id, status="ok", device="CPU:0")
    rng = random.Random(SEED)
    for index in range(samples // ARMS):
        order = rng.sample(arms, ARMS)
        blocks = tuple(
            e.Block(a.id, 0, 16, round(rng.lognormvariate(-7, 0.1), 9), round(rng.lognormvariate(-9, 0.1), 9))
            for a in order
        )
        timed = sum(b.seconds + (b.latency_s or 0.0) for b in blocks)
        yield e.Round(run=run, index=index, blocks=blocks, elapsed_s=index / 37, timed_s=timed, canary_s=1e-5)
    yield e.Finished(run=run, status="ok", elapsed_s=1.0)


async def replayed(store, run: str) -> int:
    """Opened in the lab and sought to its end; the rounds shown."""
    from tuilab.lab.replay import RUN, load
    from tuilab.lab.state import LabState

    state, replay = LabState(), load(store, RUN + run)
    replay.seek(replay.rounds)
    many = {"take": state.take} if hasattr(state, "take") else {}
    playing = asyncio.ensure_future(replay.play(state.apply, state.rewind, **many))
    while state.shown.status is None:
        await asyncio.sleep(0.01)
    playing.cancel()
    return state.shown.rounds


def step(name: str, folder: Path, samples: int, runs: int) -> None:
    """One act, timed; its figures on standard output."""
    import msgspec

    from tuilab.history import browse
    from tuilab.history.store import Store
    from tuilab.model import events as e

    store = Store.open(folder / ("many" if name in ("fill", "search", "prune") else "long"))
    found: dict[str, object] = {}
    run = f"{7:032x}"
    begun = time.perf_counter()
    if name == "make":
        from tuilab.history.recorder import Recorder

        recorder, some = Recorder(store), iter(events(samples))
        store.connection.execute("PRAGMA synchronous = OFF")
        # As it was measured, but many rounds at a time: a round of its own each would take an hour.
        first = next(some)
        number, lines = 0, [e.encode(first).rstrip()]
        for event in some:
            lines.append(e.encode(event).rstrip())
            if len(lines) >= 2_000:
                store.append(run, number, lines, None if number else first)
                number += len(lines)
                lines = []
        store.append(run, number, lines, None if number else first)
        store.conclude(run, "ok", "XLA is fastest")
        store.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        del recorder
        found["bytes a sample"] = (
            sum(f.stat().st_size for f in (folder / "long").glob("history.db*")) / samples
        )
    elif name == "open":
        state = store.state(run)
        found["rounds"] = state.rounds
    elif name == "replay":
        found["rounds"] = asyncio.run(replayed(store, run))
    elif name in ("export", "hosts", "compare"):
        store.close()
        words = {
            "export": ["export", run, "-o", str(folder / "out.md")],
            "hosts": ["hosts"],
            "compare": ["history", "compare", run, run],
        }[name]
        done = subprocess.run(
            [sys.executable, "-P", "-m", "tuilab", *words],
            capture_output=True,
            env={**os.environ, "TUILAB_DATA": str(folder / "long")},
        )
        found["rc"] = done.returncode
    elif name == "fill":
        rng, first = random.Random(SEED), next(iter(events(1)))
        with store.at_once():
            for number in range(runs):
                at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(1.6e9 + 600 * number))
                one = msgspec.structs.replace(
                    first, run=f"{rng.getrandbits(128):032x}", at=at, preset=f"p-{number % 40}"
                )
                store._begin(one)
            store.connection.execute(
                "UPDATE runs SET rounds = 60, size = 20000, status = 'ok', answer = 'CPU graph is 3 × as fast as eager'"
            )
    elif name == "search":
        slowest = 0.0
        for word in ("s", "st", "p-1", "p-17", "graph", "zzz", "machine:h"):
            start = time.perf_counter()
            browse.extent(store, word), browse.page(store, word)
            slowest = max(slowest, time.perf_counter() - start)
        found["slowest search, ms"] = round(1e3 * slowest)
    elif name == "prune":
        store.prune(400)
    seconds = time.perf_counter() - begun
    kind = resource.RUSAGE_CHILDREN if name in ("export", "hosts", "compare") else resource.RUSAGE_SELF
    used = resource.getrusage(kind)
    memory, busy = used.ru_maxrss / 1024, used.ru_utime + used.ru_stime
    print(
        json.dumps(
            {
                "step": name,
                "seconds": round(seconds, 2),
                "processor s": round(busy, 2),
                "MB": round(memory),
                **found,
            }
        )
    )


def main() -> None:
    if len(sys.argv) > 3 and sys.argv[1] == "step":
        step(sys.argv[2], Path(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5]))
        return
    samples, runs = (int(word) for word in [*sys.argv[1:3], "5000000", "50000"][:2])
    with tempfile.TemporaryDirectory() as folder:
        for name in STEPS:
            words = [sys.executable, "-P", __file__, "step", name, folder, str(samples), str(runs)]
            done = subprocess.run(words, stdout=subprocess.PIPE, text=True)
            print(done.stdout.strip() or f"{name}: failed", flush=True)


if __name__ == "__main__":
    main()
