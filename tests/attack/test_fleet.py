import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("distributed", reason="the extra `fleet` (dask[distributed]) is not installed")

from distributed import Client, LocalCluster, WorkerPlugin

from tests.attack.test_attack import WORKER, linux, long, ours, rounds_of, table  # noqa: F401
from tests.fleet.test_dask import two_nodes

ROUNDS = 40
SWEEP = ("sweep", "stft-small", "--device", "CPU", "--mode", "graph", "--budget", "quick", "--no-refine")


class AttackWorkers(WorkerPlugin):
    name = "attack-workers"

    def __init__(self, data: Path, *words: str) -> None:
        self.data, self.command = str(data), [sys.executable, WORKER, *words]

    def setup(self, worker: object) -> None:
        from tuilab.fleet import node

        os.environ["TUILAB_DATA"] = self.data
        made = node.Node(self.command)
        node.node = lambda: made


@linux
@pytest.mark.timeout(1_800)
def test_killing_a_fleet_client_loses_no_round_and_leaves_no_worker(tmp_path, long):  # noqa: F811
    with two_nodes() as cluster, Client(cluster) as client:
        kills(cluster, client, tmp_path, 20 if long else 2)


def kills(cluster: LocalCluster, client: Client, folder: Path, trials: int) -> None:
    rng = random.Random(24)
    lost = orphans = tracebacks = rounds = 0
    for trial in range(trials):
        place = folder / f"{trial}"
        place.mkdir()
        truth, far, greeting = place / "truth", place / "far", trial % 4 == 1
        plugin = AttackWorkers(far, "0.01", str(truth), str(ROUNDS), "3" if greeting else "0")
        client.register_plugin(plugin)
        words = [sys.executable, "-m", "tuilab", *SWEEP, "--axis", "samples=256:64k:x2"]
        words += ["--on", cluster.scheduler_address]
        with (place / "log").open("wb") as log:
            program = subprocess.Popen(
                words, env={**os.environ, "TUILAB_DATA": str(place / "data")}, stdout=log, stderr=log
            )
        deadline = time.monotonic() + 180
        while not (ours(str(truth)) if greeting else list(place.glob("truth.*"))):
            assert program.poll() is None and time.monotonic() < deadline, (place / "log").read_text()
            time.sleep(0.02)
        time.sleep(rng.uniform(0.0, 1.0))
        program.send_signal(rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM]))
        program.wait(60)
        deadline = time.monotonic() + 15
        while ours(str(truth)) and time.monotonic() < deadline:
            time.sleep(0.1)
        orphans += len(ours(str(truth)))
        time.sleep(1.5)
        # The nodes are still running, but their data must already be complete.
        here, there = rounds_of(place / "data"), rounds_of(far)
        tracebacks += "Traceback" in (place / "log").read_text(errors="replace")
        measured = {file.name.partition(".")[2]: file.stat().st_size for file in place.glob("truth.*")}
        gone = {run: count for run, count in measured.items() if there.get(run, 0) < count}
        missing = sum(gone.values()) - sum(here.values())
        rounds += sum(measured.values())
        if missing > 0:
            lost += missing
            print(f"trial {trial}: here {here}, there {there}, measured {measured}")
    table("kills, fleet", trials=trials, rounds=rounds, lost=lost, orphans=orphans, tracebacks=tracebacks)
