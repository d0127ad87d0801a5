"""Kills forked processes of a run at random times: no data is lost, and no process is left. Uses TensorFlow.

The workers write one byte per finished round, which shows the progress. `--long` makes 48 trials (`-s` prints
the table).
"""

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress

import psutil
import pytest

from tests.attack.test_attack import linux, part, rounds_of, table
from tests.calling import here
from tuilab.history.check import check
from tuilab.history.store import FILE, Store

COUNTING = """
import os, sys
if any(word.startswith("tuilab.worker") for word in sys.orig_argv):
    from tuilab.worker.channel import Channel
    send = Channel.send
    def counted(self, event):
        send(self, event)
        if type(event).__name__ == "Round":
            with open(os.environ["ATTACK_TRUTH"] + "." + event.run, "ab", 0) as file:
                file.write(b".")
    Channel.send = counted
"""
EARLIEST, SECONDS = 5.0, 18.0
"""Start of the first forked process and end of a `standard` run, in seconds from the run's start, on two
processors.
"""
WHO = ("lab", "measuring", "idle", "stub", "zygote")
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def started(word: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.status() != psutil.STATUS_ZOMBIE and word in process.environ().get("ATTACK_TRUTH", ""):
                found.append(process)
    return found


def those(who: str, every: list[psutil.Process]) -> list[psutil.Process]:
    """Return a run's processes of one kind: forked workers (busy or waiting), the processes that
    requested forks, or zygotes.
    """
    alive, stubs, zygotes, workers = [], [], [], []
    for one in every:
        with suppress(psutil.Error):
            words = " ".join(one.cmdline())
            alive.append(one)
            if "forked.py" in words:
                stubs.append(one)
            elif "tuilab.worker.zygote" in words:
                parent = one.parent()
                above = " ".join(parent.cmdline()) if parent else ""
                (workers if "tuilab.worker.zygote" in above else zygotes).append(one)
            elif words.endswith("tuilab.worker"):
                workers.append(one)
    if who in ("measuring", "idle"):
        busy = {}
        for one in workers:
            with suppress(psutil.Error):
                busy[one] = one.cpu_percent(0.05)
        return [one for one, percent in busy.items() if (percent > 20.0) == (who == "measuring")]
    return {"stub": stubs, "zygote": zygotes}[who]


def attacked(program: subprocess.Popen[bytes], truth: str, what: str | int, rng: random.Random) -> str:
    end = time.monotonic() + rng.uniform(EARLIEST, SECONDS)
    while time.monotonic() < end and program.poll() is None:
        time.sleep(0.02)
    if isinstance(what, int):
        program.send_signal(what)
        return signal.Signals(what).name
    if what in ("lab", "twice"):
        program.send_signal(signal.SIGKILL if what == "lab" else signal.SIGINT)
        if what == "twice":
            time.sleep(rng.uniform(0.0, 0.6))
            program.send_signal(signal.SIGINT)
        return what
    while program.poll() is None:
        if found := those(what, started(truth)):
            with suppress(psutil.Error):
                rng.choice(found).kill()
            return what
        time.sleep(0.02)
    return "nobody"


@linux
@pytest.mark.slow
@pytest.mark.long
@pytest.mark.real_worker
@pytest.mark.timeout(7_200)
def test_killing_any_process_of_a_forked_run_loses_no_round_and_leaves_none(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(COUNTING)
    kinds = [*WHO, "twice", *map(int, SIGNALS)]
    trials = part(range(int(os.environ.get("ATTACK_TRIALS", "48"))))
    rounds = lost = orphans = tracebacks = unsound = hangs = 0
    for trial in trials:
        rng = random.Random(f"32 forked {trial}")
        place = tmp_path / f"{trial}"
        place.mkdir()
        truth = str(place / "truth")
        environment = {
            **os.environ,
            "TUILAB_DATA": str(place / "data"),
            "ATTACK_TRUTH": truth,
            "PYTHONPATH": str(tmp_path),
            "TF_CPP_MIN_LOG_LEVEL": "3",
        }
        Store.open(place / "data").close()
        words = [sys.executable, "-m", "tuilab", "run", "stft-small", "--budget", "standard"]
        with (place / "log").open("wb") as log:
            program = subprocess.Popen(
                words, env=environment, stdout=log, stderr=log, cwd=place, start_new_session=True
            )
        who = attacked(program, truth, kinds[trial % len(kinds)], rng)
        try:
            code = program.wait(180)
        except subprocess.TimeoutExpired:
            hangs += 1
            program.kill()
            code = program.wait()
        # Without its lab, a worker finishes its own part of the run.
        deadline = time.monotonic() + (60.0 if who == "lab" or who == "SIGHUP" else 5.0)
        begun = time.monotonic()
        while started(truth) and time.monotonic() < deadline:
            time.sleep(0.05)
        alone_s = time.monotonic() - begun
        left = started(truth)
        orphans += len(left)
        for process in left:
            print(trial, who, "left:", process.cmdline())
            process.kill()
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("TUILAB_DATA", str(place / "data"))
            done = here("history", "unattended")
        text = (place / "log").read_text(errors="replace")
        tracebacks += "Traceback" in text + done.stdout + done.stderr
        kept = rounds_of(place / "data")
        unsound += bool(check(place / "data" / FILE).findings)
        measured = {file.name.partition(".")[2]: file.stat().st_size for file in place.glob("truth.*")}
        missing = sum(max(0, many - kept.get(run, 0)) for run, many in measured.items())
        rounds, lost = rounds + sum(measured.values()), lost + missing
        print(
            trial,
            who,
            code,
            sum(measured.values()),
            missing,
            f"{alone_s:.1f} s",
            text.strip()[-160:].replace("\n", " | "),
        )
    table(
        "kills, forked",
        trials=len(trials),
        rounds=rounds,
        lost=lost,
        orphans=orphans,
        tracebacks=tracebacks,
        escapes=unsound,
    )
    assert not hangs
    assert rounds
