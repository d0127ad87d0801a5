"""The lab under attack, seeded: what was measured stays, nothing is left behind, nobody sees a traceback.

Short as it stands; `--long` gives the numbers of the table, which is printed at the end of each test (`-s`).
"""

import contextlib
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import psutil
import pytest

from tests.history.older import older
from tests.history.test_packed import regular, started
from tuilab.analysis.summary import summarise
from tuilab.history import recording
from tuilab.history.check import check, repair
from tuilab.history.imports import import_file
from tuilab.history.store import FILE, Store
from tuilab.model import events as e
from tuilab.model.errors import InputError
from tuilab.model.run import RunState
from tuilab.report.formats import FORMATS

PROGRAM = str(Path(__file__).with_name("program.py"))
ESCAPE = re.compile("[\x1b\x9b\x07\u202e]")
linux = pytest.mark.skipif(sys.platform != "linux", reason="processes are told on Linux alone")


@pytest.fixture
def long(request) -> bool:
    return bool(request.config.getoption("--long"))


def table(name: str, **figures: int) -> None:
    print(f"\n{name}: " + ", ".join(f"{value:,} {key.replace('_', ' ')}" for key, value in figures.items()))
    bad = {key: figures[key] for key in ("lost", "orphans", "tracebacks", "escapes") if figures.get(key)}
    assert not bad, bad


def ours(word: str) -> list[psutil.Process]:
    """Processes that have this word among their arguments or in their environment, and have not ended."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.status() != psutil.STATUS_ZOMBIE and any(word in part for part in process.cmdline()):
                found.append(process)
    return found


FACES = {
    "command": ["run", "stft-small", "--budget", "quick"],
    "sweep": ["sweep", "stft-small", "--axis", "samples=256,512", "--no-refine"],
    "script": ["script"],
}


@linux
@pytest.mark.timeout(7_200)
def test_kills_at_random_moments_lose_no_round_and_leave_nobody(tmp_path, long):
    rng = random.Random(20)
    trials = 200 if long else 6
    lost = orphans = tracebacks = rounds = 0
    for trial in range(trials):
        place = tmp_path / f"{trial}"
        place.mkdir()
        truth = place / "truth"
        environment = {**os.environ, "TUILAB_DATA": str(place / "data"), "HOME": str(place)}
        face = rng.choice(list(FACES))
        number = rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGHUP, signal.SIGTERM])
        words = [sys.executable, PROGRAM, "0.005", str(truth), *FACES[face]]
        Store.open(place / "data").close()
        lock = None
        if rng.random() < 0.4:
            lock = sqlite3.connect(place / "data" / FILE, isolation_level=None, timeout=20)
        log = (place / "log").open("wb")
        program = subprocess.Popen(words, env=environment, stdout=log, stderr=log, start_new_session=True)
        deadline = time.monotonic() + 60
        while not list(place.glob("truth.*")) and time.monotonic() < deadline and program.poll() is None:
            time.sleep(0.01)
        if lock is not None:
            lock.execute("BEGIN IMMEDIATE")
        time.sleep(rng.uniform(0.0, 1.5))
        target = program.pid
        if rng.random() < 0.25:
            workers = [p for p in ours(str(truth)) if p.pid != program.pid]
            target = workers[0].pid if workers else target
        with contextlib.suppress(ProcessLookupError):
            os.kill(target, number)
        if target != program.pid:
            time.sleep(0.3)
            with contextlib.suppress(ProcessLookupError):
                os.kill(program.pid, signal.SIGKILL)
        if lock is not None:
            time.sleep(0.2)
            lock.execute("ROLLBACK")
            lock.close()
        program.wait(60)
        deadline = time.monotonic() + 20
        while ours(str(truth)) and time.monotonic() < deadline:
            time.sleep(0.05)
        orphans += len(ours(str(truth)))
        for process in ours(str(truth)):
            process.kill()
        after = [sys.executable, PROGRAM, "0.005", str(truth), "history", "unattended"]
        done = subprocess.run(after, env=environment, capture_output=True, text=True, timeout=60)
        said = (place / "log").read_text(errors="replace") + done.stdout + done.stderr
        tracebacks += "Traceback" in said
        store = Store.open(place / "data")
        for file in place.glob("truth.*"):
            measured = file.stat().st_size
            run = file.name.partition(".")[2]
            kept = store.state(run).rounds
            rounds += measured
            if kept < measured:
                lost += measured - kept
                print(
                    f"trial {trial} {face} {number} locked={lock is not None}: {kept} of {measured}",
                    said[-800:],
                )
        store.close()
    table("kills", trials=trials, rounds=rounds, lost=lost, orphans=orphans, tracebacks=tracebacks)


def filled(folder: Path, runs: int = 4) -> Path:
    store = Store.open(folder)
    for number in range(runs):
        run = f"{number:x}" * 32
        some = [started(run), *regular(120, number, run), e.Finished(run=run, status="ok")]
        store.replace(some[0], [e.encode(event).rstrip() for event in some])
        store.conclude(run, "ok", "CPU graph is fastest")
    store.close()
    return folder / FILE


@pytest.mark.timeout(3_600)
def test_a_damaged_history_is_told_and_what_is_sound_of_it_is_saved(tmp_path, monkeypatch, long):
    from tests.cli.test_bad_arguments import TRACE, call

    rng = random.Random(21)
    trials = 300 if long else 15
    sound = filled(tmp_path / "sound").read_bytes()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    tracebacks = escapes = faults = unsound = saved = 0
    commands = [
        ["history"], ["history", "--search", "stft"], ["export", "0" * 8], ["export", "1" * 8, "--format", "csv"],
        ["history", "compare", "0" * 8, "1" * 8], ["history", "check"], ["hosts"], ["history", "prune", "--days", "9000"],
        ["history", "save", "2" * 8, str(tmp_path / "out.jsonl")],
    ]  # fmt: skip
    for trial in range(trials):
        folder = tmp_path / f"{trial}"
        folder.mkdir()
        data = bytearray(sound)
        kind = rng.randrange(4)
        if kind == 0:
            data = data[: rng.randrange(len(data))]
        for _ in range(rng.choice([1, 3, 30]) if kind else 0):
            at, size = rng.randrange(len(data)), rng.choice([1, 8, 300, 4096])
            data[at : at + size] = rng.choice([b"\0" * size, rng.randbytes(size)])
        (folder / FILE).write_bytes(data)
        monkeypatch.setenv("TUILAB_DATA", str(folder))
        for words in commands:
            code, said = call(words, monkeypatch)
            tracebacks += bool(TRACE.search(said))
            escapes += bool(ESCAPE.search(said))
            if code == 70:
                faults += 1
                print(trial, words, said)
        damaged = sorted(folder.glob("history-damaged-*.db")) or [folder / FILE]
        other = tmp_path / f"{trial}-repair"
        other.mkdir()
        (other / FILE).write_bytes(damaged[0].read_bytes())
        with contextlib.suppress(OSError):
            saved += repair(other / FILE).rounds
        unsound += bool(check(other / FILE).findings)
    table(
        "corruptions", trials=trials, commands=trials * len(commands), faults=faults, unsound_after_repair=unsound,
        rounds_saved=saved, rounds_there=trials * 480, tracebacks=tracebacks, escapes=escapes,
    )  # fmt: skip
    assert not faults and not unsound


EXTREMES = ["0", "-1", "1e308", "1e30", "1" + "0" * 30, "null", "true", "[]", "{}", '"x"', "1e-320"]
TEXTS = ["\\u001b[31m", "\\u202e", "=1+1", "<script>", "x" * 3_000, "", "\\ud800", "../../x"]


def replaced(rng: random.Random, pattern: bytes, line: bytes, by: str) -> bytearray:
    return bytearray(re.sub(pattern, lambda found: by.encode() if rng.random() < 0.35 else found[0], line))


def mutated(rng: random.Random, lines: list[bytes]) -> list[bytes]:
    """A recording that somebody tampered with: bytes, values, keys, order, length."""
    out = list(lines)
    for _ in range(rng.choice([1, 1, 2, 5])):
        at = rng.randrange(len(out))
        line = bytearray(out[at])
        match rng.randrange(8):
            case 0:
                line[rng.randrange(len(line))] = rng.randrange(256)
            case 1:
                line = replaced(rng, rb"(?<=:)-?[0-9][0-9.e+-]*", bytes(line), rng.choice(EXTREMES))
            case 2:
                line = replaced(rng, rb'(?<=:")[^"]*', bytes(line), rng.choice(TEXTS))
            case 3:
                out.insert(rng.randrange(len(out)), out[at])
                continue
            case 4:
                del out[at]
                if not out:
                    return [b""]
                continue
            case 5:
                rng.shuffle(out)
                continue
            case 6:
                line = line[: rng.randrange(len(line) + 1)]
            case 7:
                line = bytearray(b"[" * rng.choice([10, 5_000]) + bytes(line))
        out[at] = bytes(line)
    return out


@pytest.mark.timeout(3_600)
def test_a_mutated_recording_is_taken_in_or_refused_in_words(tmp_path, long):
    rng = random.Random(22)
    trials = 3_000 if long else 150
    shipped = Path(__file__).parents[1] / "recordings"
    sources = [shipped.joinpath(name).read_bytes().splitlines() for name in ("run.jsonl", "sweep.jsonl")]
    taken = refused = escapes = tracebacks = 0
    file = tmp_path / "mutated.jsonl"
    for trial in range(trials):
        file.write_bytes(b"\n".join(mutated(rng, rng.choice(sources))) + b"\n")
        store = Store._in_memory("an attack")
        try:
            runs = import_file(store, file)
        except InputError as error:
            refused += 1
            escapes += bool(ESCAPE.search(str(error)))
            continue
        finally:
            if trial % 50 == 0:
                store_runs = store.runs()
                escapes += any(ESCAPE.search(line.answer + line.preset + line.host) for line in store_runs)
        taken += 1
        for run in runs:
            state = store.state(run)
            try:
                result = summarise(state)
                for name in ("markdown", "html", "json", "csv"):
                    escapes += bool(ESCAPE.search(FORMATS[name][1](result, state)))
            except Exception as error:
                tracebacks += 1
                print(f"trial {trial}: {type(error).__name__}: {error}")
                file.rename(tmp_path / f"mutated-{trial}.jsonl")
                break
        store.close()
    table(
        "mutated recordings",
        trials=trials,
        taken=taken,
        refused=refused,
        escapes=escapes,
        tracebacks=tracebacks,
    )


@linux
@pytest.mark.timeout(3_600)
def test_an_older_history_survives_kills_while_it_is_brought_up_to_date(tmp_path, long):
    rng = random.Random(23)
    count, kills = (1_000, 20) if long else (120, 4)
    runs = []
    for number in range(count):
        run = f"{number:032x}"
        runs.append([started(run), *regular(20, number, run), e.Finished(run=run, status="ok")])
    file = older(tmp_path / "data", runs)
    code = "import sys; from pathlib import Path; from tuilab.history.store import Store; print('up', flush=True); s = Store.open(Path(sys.argv[1])); s.pack_older(); print('done', flush=True)"
    killed = 0
    for _ in range(kills):
        program = subprocess.Popen(
            [sys.executable, "-c", code, str(file.parent)], stdout=subprocess.PIPE, text=True
        )
        assert program.stdout is not None and program.stdout.readline() == "up\n"
        time.sleep(rng.uniform(0.0, 0.4 if long else 0.1))
        killed += program.poll() is None
        program.kill()
        program.wait()
        program.stdout.close()
    store = Store.open(file.parent)
    assert store.pack_older()
    lost = 0
    for events in runs:
        lost += sum(isinstance(event, e.Round) for event in events) - store.state(events[0].run).rounds
        assert list(store.events(events[0].run)) == events
    store.close()
    assert check(file).findings == ()
    table("migration of 0.1", runs=count, kills=killed, rounds=20 * count, lost=lost)


def test_a_remote_host_cannot_write_into_another_run(tmp_path):
    import asyncio

    from tuilab.history.recorder import Recorder
    from tuilab.runner.supervisor import Supervisor

    file = filled(tmp_path)
    store = Store.open(file.parent)
    before = [line for _, line in store.raw("0" * 32)]
    forged = [
        {"type": "hello", "protocol": 1, "tuilab": "0", "pid": 1},
        msgspec.json.decode(e.encode(started("0" * 32))),
        msgspec.json.decode(e.encode(regular(1, 9, "0" * 32)[0])),
        {"type": "finished", "run": "0" * 32, "status": "failed"},
    ]
    lines = "\n".join(msgspec.json.encode(line).decode() for line in forged)
    recorder = Recorder(store)

    async def speak() -> None:
        over = asyncio.Event()

        def heard(event: e.Event) -> None:
            recorder.record(event)
            if isinstance(event, e.WorkerExited):
                over.set()

        supervisor = Supervisor(heard, [sys.executable, "-c", f"print({lines!r})"])
        await supervisor.start()
        await asyncio.wait_for(over.wait(), 60)
        await supervisor.close()

    asyncio.run(speak())
    recorder.flush()
    assert [line for _, line in store.raw("0" * 32)] == before
    assert store.find("0" * 32).rounds == 120 and store.status("0" * 32) == "ok"
    store.close()
    assert RunState().rounds == 0 and recording is not None
