"""Random attacks on the lab with fixed seeds. Measurements survive, no process or file is left behind, and no
traceback appears.

The tests make a few trials by default, and many with `--long`. Each test ends by printing its results, which
`-s` shows.
"""

import asyncio
import contextlib
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec
import psutil
import pytest

from tests.calling import here
from tests.made import MODES, regular, regular_run, started
from tests.remote.conftest import sshd  # noqa: F401
from tests.remote.server import REPOSITORY, free_port
from tests.terminal.terminal import Terminal
from tests.watch.test_kept import page
from tuilab.analysis.summary import summarise
from tuilab.history import programs, spool
from tuilab.history.check import check, repair
from tuilab.history.imports import import_file
from tuilab.history.recorder import Recorder
from tuilab.history.store import FILE, Store
from tuilab.lab.results import document_of
from tuilab.model import events as e
from tuilab.model.errors import InputError
from tuilab.model.requests import Measure
from tuilab.model.scenario import BUDGET
from tuilab.report.formats import FORMATS
from tuilab.runner.supervisor import Supervisor

PROGRAM, WORKER, OBSERVED = (
    str(Path(__file__).with_name(name)) for name in ("program.py", "worker.py", "observed.py")
)
RECORDINGS = Path(__file__).parents[1] / "recordings"
ESCAPE = re.compile("[\x1b\x9b\x07\u202e]")
T = TypeVar("T")
linux = pytest.mark.skipif(sys.platform != "linux", reason="processes are identified on Linux only")


@pytest.fixture
def long(request) -> bool:
    return bool(request.config.getoption("--long"))


def part(trials: Iterable[T]) -> list[T]:
    """Return the trials to run. With TUILAB_TESTS_PART=2/8, these are every eighth trial, starting with the
    second.
    """
    which, of = map(int, os.environ.get("TUILAB_TESTS_PART", "1/1").split("/"))
    return list(trials)[which - 1 :: of]


def table(name: str, **figures: int) -> None:
    print(f"\n{name}: " + ", ".join(f"{value:,} {key.replace('_', ' ')}" for key, value in figures.items()))
    bad = {key: figures[key] for key in ("lost", "orphans", "tracebacks", "escapes") if figures.get(key)}
    assert not bad, bad


def ours(word: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.status() != psutil.STATUS_ZOMBIE and any(word in part for part in process.cmdline()):
                found.append(process)
    return found


Begin = Callable[[Path, list[str], dict[str, str]], AbstractContextManager[subprocess.Popen[bytes]]]


@contextlib.contextmanager
def piped(place: Path, words: list[str], environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    with (place / "log").open("wb") as log:
        program = subprocess.Popen(
            words, env=environment, stdout=log, stderr=log, start_new_session=True, cwd=place
        )
        yield program
        program.wait(60)


@contextlib.contextmanager
def on_a_terminal(
    place: Path, words: list[str], environment: dict[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    terminal = Terminal(words, {**environment, "TERM": "xterm-256color", "LANG": "C.UTF-8"})
    try:
        deadline = time.monotonic() + 60
        while not list(place.glob("truth.*")) and time.monotonic() < deadline:
            if terminal.shows("ready"):
                terminal.press("r")
            time.sleep(0.5)
        yield terminal.process
        terminal.process.wait(60)
    finally:
        terminal.close()
        (place / "log").write_bytes(terminal.sent)


@contextlib.contextmanager
def in_a_page(
    place: Path, words: list[str], environment: dict[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    aiohttp = pytest.importorskip("aiohttp")
    words = [*words, "--port", str(free_port())]
    with (place / "log").open("wb") as log:
        program = subprocess.Popen(words, env=environment, stdout=log, stderr=log, start_new_session=True)
    url, deadline = "", time.monotonic() + 60
    while not url and time.monotonic() < deadline:
        time.sleep(0.05)
        url = (re.findall(r" is at (\S+)\n", (place / "log").read_text()) or [""])[0]
    assert url, (place / "log").read_text()

    async def page() -> None:
        async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as client:
            while program.poll() is None:
                with contextlib.suppress(aiohttp.ClientError):
                    await client.get(url)
                    break
                await asyncio.sleep(0.1)
            address = f"http://{url.split('/')[2]}/ws?width=120&height=40"
            async with client.ws_connect(address) as socket:
                while not socket.closed and program.poll() is None:
                    if not list(place.glob("truth.*")):
                        await socket.send_str('["stdin", "r"]')
                    with contextlib.suppress(TimeoutError):
                        await socket.receive(timeout=0.7)

    def browse() -> None:
        with contextlib.suppress(aiohttp.ClientError, ConnectionError):
            asyncio.run(page())

    browser = threading.Thread(target=browse, daemon=True)
    browser.start()
    yield program
    program.wait(60)
    browser.join(20)


@dataclass(frozen=True)
class Face:
    words: tuple[str, ...]
    kills: int
    few: int = 2
    begin: Begin = piped


FACES = {
    "command": Face(("run", "stft-small", "--budget", "quick"), 60),
    "sweep": Face(("sweep", "stft-small", "--axis", "samples=256,512", "--no-refine"), 40),
    "script": Face(("script",), 20),
    "model": Face(("run", "net.keras", "--budget", "quick"), 20, 1),
    "lab": Face(("--preset", "stft-small", "--hangup", "end"), 50, 1, on_a_terminal),
    "served": Face(("serve",), 20, 1, in_a_page),
    "ssh": Face(("run", "stft-small", "--budget", "quick", "--host", "gpu-07"), 50),
}


@linux
@pytest.mark.timeout(7_200)
@pytest.mark.parametrize("name", FACES)
def test_kills_at_random_moments_lose_no_round_and_leave_no_process(name, tmp_path, long, request):
    face = FACES[name]
    trials = part(range(face.kills if long else face.few))
    server = request.getfixturevalue("sshd") if name == "ssh" else None
    lost = orphans = tracebacks = escapes = rounds = 0
    for trial in trials:
        rng = random.Random(f"20 {name} {trial}")
        place = tmp_path / f"{trial}"
        place.mkdir()
        truth, far = place / "truth", place / "far"
        (place / "net.keras").write_bytes(b"PK")
        environment = {**os.environ, "TUILAB_DATA": str(place / "data"), "HOME": str(place)}
        if server is not None:
            there = f"env PYTHONPATH={REPOSITORY} TUILAB_DATA={far} {sys.executable} {WORKER} 0.005 {truth}"
            environment |= {**server.environment(place / "data", there), "HOME": str(place)}
        words = [sys.executable, PROGRAM, "0.005", str(truth), *face.words]
        Store.open(place / "data").close()
        with face.begin(place, words, environment) as program:
            killed(program, place, rng)
        deadline = time.monotonic() + 20
        while ours(str(truth)) and time.monotonic() < deadline:
            time.sleep(0.05)
        orphans += len(ours(str(truth)))
        for process in ours(str(truth)):
            process.kill()
        with pytest.MonkeyPatch.context() as patch:
            for name_of, value in environment.items():
                patch.setenv(name_of, value)
            done = here("history", "unattended")
        text = (place / "log").read_text(errors="replace")
        tracebacks += "Traceback" in text + done.stdout + done.stderr
        # a screen's output always contains escape sequences
        plain = done.stdout + done.stderr + (text if face.begin is piped else "")
        escapes += bool(ESCAPE.search(plain))
        kept = [rounds_of(folder) for folder in (place / "data", far)]
        for file in place.glob("truth.*"):
            measured, run = file.stat().st_size, file.name.partition(".")[2]
            there = max(found.get(run, 0) for found in kept)
            rounds += measured
            if there < measured:
                lost += measured - there
                print(f"trial {trial}: {there} of {measured}", text[-800:], done.stdout, done.stderr)
    table(
        f"kills, {name}",
        trials=len(trials),
        rounds=rounds,
        lost=lost,
        orphans=orphans,
        tracebacks=tracebacks,
        escapes=escapes,
    )
    assert rounds


@linux
@pytest.mark.timeout(1_200)
def test_a_watched_program_ends_normally_whichever_watcher_is_killed(tmp_path, long):
    rng = random.Random("32 watch")
    trials, tracebacks, orphans, unsound, lost = 40 if long else 1, 0, 0, 0, 0
    for trial in range(trials):
        place = tmp_path / f"{trial}"
        place.mkdir()
        windows = Path(tempfile.mkdtemp(dir="/tmp"))  # tuilab rejects long socket paths
        environment = {**os.environ, "TUILAB_DATA": str(place / "data"), "TMPDIR": str(windows)}
        program = [sys.executable, "-I", "-S", OBSERVED, "30", "0.02"]
        words = [
            sys.executable,
            "-m",
            "tuilab",
            "watch",
            "--plain",
            "-o",
            str(place / "page"),
            "--",
            *program,
        ]
        with (place / "log").open("wb") as log:
            watcher = subprocess.Popen(words, env=environment, stdout=log, stderr=log, start_new_session=True)
        deadline = time.monotonic() + 60
        while not list(windows.glob("tuilab-watch-*/*.pb")):
            assert time.monotonic() < deadline, "no profiling window was written"
            time.sleep(0.005)
        time.sleep(rng.uniform(0.0, 0.8))
        number = rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
        with contextlib.suppress(ProcessLookupError):
            watcher.send_signal(number)
        ended = watcher.wait(60)
        while (ours(OBSERVED) or os.listdir(windows)) and time.monotonic() < deadline:
            time.sleep(0.02)
        text = (place / "log").read_text(errors="replace")
        orphans += len(ours(OBSERVED)) + len(os.listdir(windows))
        shutil.rmtree(windows)
        tracebacks += "Traceback" in text
        # Without `end`, a signal must have ended the process, unless it came before the process handled
        # signals.
        lost += "end" not in text and (number == signal.SIGKILL or ended not in (-number, 128 + number))
        Store.open(place / "data").close()
        unsound += bool(check(place / "data" / FILE).findings)
        if text not in ("", "end\n"):
            print(trial, number, ended, text)
    table(
        "watchers killed", trials=trials, lost=lost, orphans=orphans, tracebacks=tracebacks, escapes=unsound
    )


@linux
@pytest.mark.long
def test_programs_obey_signals_that_the_test_process_ignores(tmp_path):
    test = tmp_path / "test_one.py"
    test.write_text(
        "import subprocess\n"
        "def test_it():\n"
        "    with open('/dev/null') as nothing, subprocess.Popen(['sleep', '5']) as one:\n"
        "        lines = open(f'/proc/{one.pid}/status').read().splitlines()\n"
        "        one.kill()\n"
        "    assert int(next(line for line in lines if line.startswith('SigIgn')).split()[1], 16) & 3 == 0\n"
    )
    words = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "tests.conftest",
        "--rootdir",
        str(tmp_path),
        str(test),
    ]
    done = subprocess.run(
        ["sh", "-c", 'trap "" INT HUP; exec "$@"', "sh", *words],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout


def killed(program: subprocess.Popen[bytes], place: Path, rng: random.Random) -> None:
    """Kill the program or one of its child processes at a random time, sometimes while it locks the
    history.
    """
    number = rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGHUP, signal.SIGTERM])
    lock = None
    if rng.random() < 0.4:
        lock = sqlite3.connect(place / "data" / FILE, isolation_level=None, timeout=20)
    deadline = time.monotonic() + 60
    while not list(place.glob("truth.*")) and time.monotonic() < deadline and program.poll() is None:
        time.sleep(0.01)
    if lock is not None:
        lock.execute("BEGIN IMMEDIATE")
    time.sleep(rng.uniform(0.0, 1.5))
    target = program.pid
    if rng.random() < 0.3:
        others = [p.pid for p in ours(str(place / "truth")) if p.pid != program.pid]
        target = rng.choice(others) if others else target
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


def rounds_of(data: Path) -> dict[str, int]:
    if not data.exists():
        return {}
    store = Store.open(data)
    try:
        spool.collect_all(store, data)
        return {line.run: store.state(line.run).rounds for line in store.runs()}
    finally:
        store.close()


def filled(folder: Path, runs: int = 4) -> Path:
    store = Store.open(folder)
    for number in range(runs):
        run = f"{number:x}" * 32
        some = regular_run(run, 120, number)
        store.replace(some[0], [e.encode(event).rstrip() for event in some])
        store.conclude(run, "ok", "CPU graph is fastest")
    programs.keep(store, "w" + "0" * 31, page(0.1, 0.5, "input-bound"))
    store.close()
    return folder / FILE


@pytest.mark.timeout(3_600)
def test_a_damaged_history_is_reported_and_its_sound_part_saved(tmp_path, monkeypatch, long):
    from tests.cli.test_bad_arguments import TRACE, call

    trials = part(range(300 if long else 15))
    sound = filled(tmp_path / "sound").read_bytes()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    tracebacks = escapes = faults = unsound = saved = 0
    commands = [
        ["history"], ["history", "--search", "stft"], ["export", "0" * 8], ["export", "1" * 8, "--format", "csv"],
        ["history", "compare", "0" * 8, "1" * 8], ["history", "check"], ["hosts"], ["history", "prune", "--days", "9000"],
        ["history", "save", "2" * 8, str(tmp_path / "out.jsonl")], ["history", "programs"], ["export", "w0"],
        ["export", "w0", "--format", "json"], ["history", "compare", "w0", "w0"],
    ]  # fmt: skip
    for trial in trials:
        rng = random.Random(f"21 {trial}")
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
            code, said = call(words)
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
        "corruptions", trials=len(trials), commands=len(trials) * len(commands), faults=faults,
        unsound_after_repair=unsound, rounds_saved=saved, rounds_there=len(trials) * 480, tracebacks=tracebacks, escapes=escapes,
    )  # fmt: skip
    assert not faults and not unsound


EXTREMES = ["0", "-1", "1e308", "1e30", "1" + "0" * 30, "null", "true", "[]", "{}", '"x"', "1e-320"]
TEXTS = ["\\u001b[31m", "\\u202e", "=1+1", "<script>", "x" * 3_000, "", "\\ud800", "../../x"]


def replaced(rng: random.Random, pattern: bytes, line: bytes, by: str) -> bytearray:
    return bytearray(re.sub(pattern, lambda found: by.encode() if rng.random() < 0.35 else found[0], line))


def mutated(rng: random.Random, lines: list[bytes]) -> list[bytes]:
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
def test_a_mutated_recording_is_imported_or_refused_with_a_message(tmp_path, long):
    trials = part(range(3_000 if long else 150))
    sources = [RECORDINGS.joinpath(name).read_bytes().splitlines() for name in ("run.jsonl", "sweep.jsonl")]
    taken = refused = escapes = tracebacks = 0
    file = tmp_path / "mutated.jsonl"
    for trial in trials:
        rng = random.Random(f"22 {trial}")
        file.write_bytes(b"\n".join(mutated(rng, rng.choice(sources))) + b"\n")
        store = Store.in_memory("an attack")
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
        trials=len(trials),
        taken=taken,
        refused=refused,
        escapes=escapes,
        tracebacks=tracebacks,
    )


@pytest.mark.parametrize("value", ["=1+1", "", "\u202e", True, -1, 0, 1e-320, 1e308, 10**30, -(10**30)])
@pytest.mark.parametrize("name", ["run", "sweep"])
def test_no_parameter_value_breaks_an_export(tmp_path, name, value):
    file = tmp_path / "r.jsonl"
    lines = RECORDINGS.joinpath(f"{name}.jsonl").read_bytes().splitlines()
    for number, line in enumerate(lines):
        event = msgspec.json.decode(line)
        if event["type"] == "run-started":
            for values in (event["scenario"]["parameters"], *(p.get("values", {}) for p in event["points"])):
                values["samples"] = value
            lines[number] = json.dumps(event).encode()
    file.write_bytes(b"\n".join(lines) + b"\n")
    store = Store.in_memory("an attack")
    try:
        (run,) = import_file(store, file)
    except InputError:
        return  # the import has rejected the recording with a message
    for format_ in FORMATS:
        assert not ESCAPE.search("".join(document_of(format_, store, run, ())))
    store.close()


def test_a_remote_host_cannot_write_into_another_run(tmp_path):
    """The remote host sends events of the other run before its own run starts, and again during its own run."""
    file = filled(tmp_path)
    store = Store.open(file.parent)
    before = [line for _, line in store.raw("0" * 32)]
    own, other = "f" * 32, "0" * 32
    own_start = started(own, *MODES)
    hello = [{"type": "hello", "protocol": e.PROTOCOL, "tuilab": "0", "pid": 1}]
    forged = [
        msgspec.json.decode(e.encode(event))
        for event in (started(other, *MODES), regular(1, 9, other)[0], e.Finished(run=other, status="failed"))
    ]
    begun = [msgspec.json.decode(e.encode(own_start))]
    machine = {"type": "ready", "machine": begun[0]["machine"], "import_s": 0, "start_s": 0}
    messages = [[*hello, *forged, machine], [*begun, *forged]]
    first, second = ("\n".join(json.dumps(line) for line in lines) for lines in messages)
    code = f"import sys; print({first!r}, flush=True); sys.stdin.readline(); print({second!r}, flush=True)"
    recorder = Recorder(store)

    async def speak() -> None:
        over = asyncio.Event()

        def heard(event: e.Event) -> None:
            recorder.record(event)
            if isinstance(event, e.WorkerExited):
                over.set()

        supervisor = Supervisor(heard, [sys.executable, "-c", code])
        await supervisor.start()
        arms = own_start.arms
        await supervisor.measure(
            Measure(id=own, scenario=own_start.scenario, arms=arms, budget=BUDGET["quick"])
        )
        await asyncio.wait_for(over.wait(), 60)
        await supervisor.close()

    asyncio.run(speak())
    recorder.flush()
    assert [line for _, line in store.raw(other)] == before
    assert store.find(other).rounds == 120 and store.status(other) == "ok"
    assert store.status(own) == "failed", "its own run is listed, and ended with its worker"
    store.close()
