"""In each command that writes, the n-th system call fails, for all n. The user's data must stay intact.

By default, a few calls of each command fail. `--long` takes an hour: each call fails, once or permanently;
the command is killed at each call that changes a file; only half of the data is written; the user's files
change during reading. TUILAB_TESTS_PART=2/8 runs every eighth trial, starting with the second.
"""

import contextlib
import errno
import itertools
import random
import re
import shutil
import signal
import sqlite3
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from tests.attack.shim import CUT, FOREVER, GROWN, HALF, KILLED, Faulty, Outcome, faulty  # noqa: F401
from tests.attack.test_attack import OBSERVED, WORKER, linux, long, part, table  # noqa: F401
from tests.documents.test_check_options import CLOCK, NO_WAIT
from tests.made import regular_run
from tests.remote.server import REPOSITORY
from tests.watch.test_kept import page
from tuilab.history import programs, spool
from tuilab.history.check import check
from tuilab.history.recording import write
from tuilab.history.store import FILE, Store
from tuilab.model import events as e
from tuilab.paths import fallback_folder
from tuilab.spool import DONE, folder

FAULTS = {
    "read": ("read", errno.EIO),
    "write": ("write", errno.ENOSPC),
    "sync": ("sync", errno.EIO),
    "rename": ("rename", errno.EACCES),
    "killed at a write": ("write", KILLED),
    "killed at a sync": ("sync", KILLED),
    "killed at a rename": ("rename", KILLED),
    "open": ("open", errno.EMFILE),
    "make": ("make", errno.ENOSPC),
    "remove": ("remove", errno.EPERM),
    "lock": ("lock", errno.ENOLCK),
    "map": ("map", errno.ENOMEM),
    "half written": ("write", HALF),
    "cut while read": ("read", CUT),
    "grown while read": ("read", GROWN),
}
"""For each fault, the kind of system call that fails, and the errno of the failure or a value from `shim` in
its place.
"""
CHANGING = ("cut while read", "grown while read")
TRACE = re.compile(r"Traceback \(most recent call last\)|^  File \"", re.MULTILINE)
ROUNDS = 6
LEFT = 20
"""Number of rounds per run, which is small because each round adds system calls to every command."""
RUNS = {f"run{number}": 300 for number in range(3)}


@dataclass(frozen=True)
class Command:
    """A command to attack.

    words: its command line. measures: the command needs a worker. in_worker: system calls of the worker fail,
    not those of the command. reads: the user's own files that the command reads. varies: the output contains
    times, so the test compares only its structure. stdout: a file for the output.
    """

    words: str
    measures: bool = False
    in_worker: bool = False
    reads: bool = False
    varies: bool = False
    stdout: str = ""


SWEEP = "sweep stft-small --axis samples=256,512 --no-refine --budget quick"
WATCH = "watch --plain -o own/page.html --json own/out.json"
COMMANDS = {
    "check --fix": Command("check own/clock.py own/more.md --fix --no-worker", reads=True),
    "check -o": Command("check own/wrong.py --json -o own/out.json --no-worker", reads=True),
    "check --write-baseline": Command(
        "check own/wrong.py --write-baseline own/base.json --no-worker", reads=True
    ),
    "check --measure -o": Command("check 003 --measure -o own/page.html", measures=True, varies=True),
    "import": Command("import own/article.md -o own/presets --overwrite", reads=True),
    "new": Command("new own/mine"),
    "export": Command("export run1 --format html -o own/page.html"),
    "export csv": Command("export run1 --format csv -o own/out.json"),
    "export of a program": Command("export w0 --format html -o own/page.html"),
    "lab: export": Command("@export"),
    "lab: remember": Command("@remember"),
    "history save": Command("history save run1 own/run.jsonl"),
    "history import": Command("history import own/other.jsonl", reads=True),
    "history tag": Command("history tag run1 good"),
    "history note": Command("history note run1 words"),
    "history pin": Command("history pin run1"),
    "history delete": Command("history delete run1"),
    "history undelete": Command("history undelete gone"),
    "history prune": Command("history prune --days 0"),
    "history prune --for-good": Command("history prune --days 90000 --for-good"),
    "history check --repair": Command("history check --repair data/history-damaged-20260101-000000.db"),
    "history unattended": Command("history unattended"),
    "hosts": Command("hosts"),
    "run": Command("run stft-small --budget quick", measures=True),
    "run --json > FILE": Command(
        "run stft-small --budget quick --json", measures=True, varies=True, stdout="own/out.json"
    ),
    "run, in its worker": Command("run stft-small --budget quick", measures=True, in_worker=True),
    "sweep": Command(SWEEP, measures=True),
    "resume": Command("resume half", measures=True),
    "profile -o": Command("profile stft-small -o own/profile", measures=True),
    "machine": Command("machine", measures=True),
    "watch -o --json": Command(f"{WATCH} -- {sys.executable} -I -S {OBSERVED}", varies=True),
}
USUAL = COMMANDS.keys() - {
    "check --measure -o", "export csv", "export of a program", "lab: export", "lab: remember", "resume", "sweep",
    "history prune --for-good", "run, in its worker", "run --json > FILE",
}  # fmt: skip
FEW = 4
"""Number of trials per command in short mode. Each has a different kind of fault."""


def template(place: Path) -> Path:
    own = place / "own"
    own.mkdir(parents=True)
    (place / "tmp").mkdir()
    (own / "clock.py").write_text(CLOCK)
    (own / "more.md").write_text(f"# A page\n\n```python\n{CLOCK}```\n" + "words\n" * 2_000)
    (own / "wrong.py").write_text(NO_WAIT)
    shutil.copyfile(REPOSITORY / "tests/documents/data/archive.md", own / "article.md")
    for name in ("out.json", "base.json", "page.html", "run.jsonl"):
        (own / name).write_text(f"what was there: {name}\n" * 300)
    write(own / "other.jsonl", regular_run("other", 200))
    state = place / "state/tuilab"
    state.mkdir(parents=True)
    (state / "preferences.json").write_text('{"theme": "dark", "recent": ["a.py"], "environments": []}')
    store = Store.open(place / "data")
    for run, count in {**RUNS, "gone": 300}.items():
        keep(store, run, count)
    store.soft_delete(["gone"], asked=True)
    half = regular_run("half", 3)[:-1]
    store.replace(half[0], [e.encode(event).rstrip() for event in half])
    store.conclude("half", "cancelled", "")
    programs.keep(store, "w0000", page(0.1, 0.5, "input-bound"))
    store.close()
    aside = Store.open(place / "aside")
    keep(aside, "aside", 300)
    aside.close()
    (place / "aside" / FILE).rename(place / "data" / "history-damaged-20260101-000000.db")
    shutil.rmtree(place / "aside")
    write(folder(place / "data") / f"left{DONE}", regular_run("left", LEFT))
    return place


def keep(store: Store, run: str, count: int) -> None:
    events = regular_run(run, count)
    store.replace(events[0], [e.encode(event).rstrip() for event in events])
    store.conclude(run, "ok", "CPU graph is fastest")


def environment(place: Path) -> dict[str, str]:
    return {
        "TUILAB_DATA": str(place / "data"),
        "HOME": str(place),
        "TMPDIR": str(place / "tmp"),
        "XDG_STATE_HOME": str(place / "state"),
        "XDG_CONFIG_HOME": str(place / "config"),
        "XDG_CACHE_HOME": str(place / "cache"),
    }


def files(place: Path) -> dict[str, bytes]:
    found = [file for name in ("own", "state") for file in (place / name).rglob("*") if file.is_file()]
    return {str(file.relative_to(place)): file.read_bytes() for file in found}


def rounds_in(file: Path) -> dict[str, int]:
    store = Store.at(file)
    try:
        return {
            run: sum(b'"type":"round"' in line[:40] for _, line in store.raw(run))
            for (run,) in store.connection.execute("SELECT run FROM runs")
        }
    finally:
        store.close()


class Attack:
    def __init__(self, faulty: Faulty, name: str, tmp: Path) -> None:  # noqa: F811
        self.faulty, self.name, self.command, self.tmp = faulty, name, COMMANDS[name], tmp
        self.home = template(tmp / "home")
        self.figures: Counter[str] = Counter()
        self.after: dict[str, bytes] = {}
        self.counts: dict[str, int] = {}
        for fault in FAULTS:
            self.counts[fault] = self.count(fault)
        self.after = files(self.place)

    def count(self, fault: str) -> int:
        kind, _ = FAULTS[fault]
        if fault in CHANGING and not self.command.reads:
            return 0
        for known, calls in self.counts.items():
            if FAULTS[known][0] == kind and (fault in CHANGING) == (known in CHANGING):
                return calls
        done = self.play(fault, FOREVER, 1)
        assert done.code in (0, 1), done
        return done.calls

    def play(self, fault: str, at: int, times: int) -> Outcome:
        self.place = self.tmp / "place"
        shutil.rmtree(self.place, ignore_errors=True)
        shutil.copytree(self.home, self.place)
        kind, number = FAULTS[fault]
        worker = [sys.executable, WORKER, "0.001", str(self.place / "truth"), str(ROUNDS)]
        self.outcome = self.faulty.play(
            self.command.words.split(),
            (kind, at, times, number),
            below=self.place / ("own" if fault in CHANGING else "data" * self.command.in_worker),
            folder=self.place,
            worker=worker if self.command.measures else (),
            in_worker=self.command.in_worker,
            stdout=self.place / self.command.stdout if self.command.stdout else None,
            seconds=90.0 if kind == "lock" else 30.0,  # SQLite waits 10 s for a lock that it cannot get
            **environment(self.place),
        )
        return self.outcome

    def trials(self, rng: random.Random | None) -> Iterator[tuple[str, int, int]]:
        """Yield each fault at each call, as a single failure and as a permanent failure. In short mode,
        yield a few of these at random.
        """
        faults = [fault for fault, calls in self.counts.items() if calls]
        for fault in faults if rng is None else rng.sample(faults, min(FEW, len(faults))):
            every = range(1, self.counts[fault] + 1)
            once = FAULTS[fault][1] in (KILLED, CUT, GROWN)
            # Alternate single and permanent failures, so that each part (TUILAB_TESTS_PART) has both.
            both = list(itertools.product((1,) if once else (1, FOREVER), every))
            for times, number in both if rng is None else rng.sample(both, 1):
                yield fault, number, times

    def attack(self, fault: str, at: int, times: int) -> None:
        done = self.play(fault, at, times)
        self.figures["failed"] += 1
        wrong = list(self.wrong(fault, done))
        self.figures.update(wrong)
        if wrong:
            forever = "on" if times > 1 else "alone"
            print(f"{self.name}: {fault} {at} {forever}: {wrong} {done.code}\n{done.said[-1500:]}")

    def wrong(self, fault: str, done: Outcome) -> Iterator[str]:
        if done.code == "hang":
            yield "hangs"
            return
        killed = FAULTS[fault][1] == KILLED and not self.command.in_worker
        if TRACE.search(done.said):
            yield "tracebacks"
        # Exit code 5 means that no history contains the run, and that the command prints where the run's data is.
        if done.code not in (0, 1, 2, 3, 4, 5) and not (killed and done.code == -signal.SIGKILL):
            yield "internal"
        if done.code not in (0, 1) and not done.said.strip() and not killed:
            yield "unsaid"
        if done.stays:
            yield "orphans"
        if lost := list(self.missing(fault, done)):
            print(lost)
            yield "lost"

    def missing(self, fault: str, done: Outcome) -> Iterator[str]:
        before, now = files(self.home), files(self.place)
        if fault in CHANGING:
            yield from self.overwritten(fault, before, now)
            before = now = {}
        for name, data in now.items():
            if data not in (before.get(name), self.after.get(name)) and not self.spared(
                fault, name, data, done
            ):
                yield f"{name}: {len(data)} bytes of {len(self.after.get(name, b''))}"
        yield from (f"{name} is gone" for name in before.keys() - now.keys())
        if done.code == 0 and fault not in CHANGING:
            undone = [name for name in self.after if now.get(name) == before.get(name) != self.after[name]]
            # an unsaved preference still applies to this session
            if undone and self.name != "lab: remember":
                yield f"done, it says, but {undone}"
        yield from self.history(fault, done)

    def overwritten(self, fault: str, before: dict[str, bytes], now: dict[str, bytes]) -> Iterator[str]:
        for name in before.keys() & now.keys():
            if now[name] in (before[name], self.after.get(name)) or name in WRITTEN.get(self.name, ()):
                continue
            if fault == "cut while read" and len(now[name]) > len(before[name]) * 0.6:
                yield f"{name} was cut, and has {len(now[name])} bytes again"
            if fault == "grown while read" and b"x = x @ x\n" * 1_000 not in now[name]:
                yield f"{name} had grown, and has {len(now[name])} bytes"

    def spared(self, fault: str, name: str, data: bytes, done: Outcome) -> bool:
        """Return True if a changed file is harmless: it differs only in times, or the failure of the command
        explains its content.
        """
        if FAULTS[fault][1] == KILLED and name.endswith(".part"):
            return True
        # The shell has truncated this file. The exit code reports the failure.
        if name == self.command.stdout and done.code != 0:
            return True
        if name.endswith("tuilab-fault.txt") or not self.command.varies or name not in self.after:
            return False
        if name.endswith(".json"):
            with contextlib.suppress(msgspec.DecodeError):
                return isinstance(msgspec.json.decode(data), dict)
            return False
        wanted = self.after[name]
        return data[:20] == wanted[:20] and data[-10:] == wanted[-10:]

    def history(self, fault: str, done: Outcome) -> Iterator[str]:
        data = self.place / "data"
        with pytest.MonkeyPatch.context() as patch:
            for name, value in environment(self.place).items():
                patch.setenv(name, value)
            patch.setattr("tempfile.tempdir", str(self.place / "tmp"))
            # If no file in the home folder could be opened, the temporary files are in /tmp.
            everybodys = Path("/tmp", (fallback_folder() or self.place).name)
            store = Store.open()
            with contextlib.suppress(OSError):
                spool.collect_all(store, data)
            store.close()
        text = done.said + "".join(words for words in store.messages)
        there: dict[str, int] = {}
        for file in data.glob("history*.db"):
            if file.name == FILE or file.name in text or "20260101" in file.name or "recovered" in file.name:
                for run, count in rounds_in(file).items():
                    there[run] = max(count, there.get(run, 0))
        wanted = {**RUNS, "gone": 300, "half": 3, "aside": 300, "left": LEFT}
        if "--for-good" in self.command.words:
            del wanted["gone"]
        for run, count in wanted.items():
            if there.get(run, 0) < count:
                yield f"{run}: {there.get(run)} of {count} rounds"
        for finding in check(data / FILE).findings:
            yield f"{finding.run}: {finding.what}"
        for truth in self.place.glob("truth.*"):
            run, measured = truth.name.partition(".")[2], truth.stat().st_size + wanted.get(truth.name[6:], 0)
            if there.get(run, 0) < measured and self.rescued(done, run) < measured:
                yield f"{run}: {there.get(run)} of {measured} measured rounds"
        shutil.rmtree(everybodys, ignore_errors=True)
        if done.code == 0 and fault not in CHANGING:
            yield from self.undone(data / FILE, done)

    def rescued(self, done: Outcome, run: str) -> int:
        if elsewhere := re.search(r"runs are saved in (\S+) for now", done.said):
            file = Path(elsewhere[1]) / FILE
            return rounds_in(file).get(run, 0) if file.exists() else 0
        match = re.search(r"is saved in (\S+\.jsonl)", done.said)
        if match is None or not Path(match[1]).exists():
            return 0
        return sum(b'"type":"round"' in line[:40] for line in Path(match[1]).read_bytes().splitlines())

    def undone(self, file: Path, done: Outcome) -> Iterator[str]:
        wanted = {
            "history tag": "SELECT 1 FROM tags WHERE run = 'run1' AND tag = 'good'",
            "history note": "SELECT 1 FROM runs WHERE run = 'run1' AND note = 'words'",
            "history pin": "SELECT 1 FROM runs WHERE run = 'run1' AND pinned = 'ghost'",
            "history delete": "SELECT 1 FROM runs WHERE run = 'run1' AND deleted_at IS NOT NULL",
            "history undelete": "SELECT 1 FROM runs WHERE run = 'gone' AND deleted_at IS NULL",
            "history import": "SELECT 1 FROM runs WHERE run = 'other' AND deleted_at IS NULL",
            "history check --repair": "SELECT 1 FROM runs WHERE run = 'aside'",
            "watch -o --json": "SELECT 1 FROM programs WHERE program != 'w0000'",
        }.get(self.name)
        text = done.said + (self.place / "own/page.html").read_text()
        if wanted and not any(
            w in text for w in ("could not be saved to the history", "in memory", "for now")
        ):
            with contextlib.closing(sqlite3.connect(file)) as connection:
                if not connection.execute(wanted).fetchone():
                    yield "done, it says, but it is not"


WRITTEN = {
    "check -o": ("own/out.json",),
    "check --write-baseline": ("own/base.json",),
}


@linux
@pytest.mark.timeout(7_200)
@pytest.mark.parametrize(
    "name", [name if name in USUAL else pytest.param(name, marks=pytest.mark.long) for name in COMMANDS]
)
def test_no_failure_of_a_system_call_loses_data(name, faulty, tmp_path, long):  # noqa: F811
    attack = Attack(faulty, name, tmp_path)
    assert sum(attack.counts.values()), attack.counts
    for trial in part(attack.trials(None if long else random.Random(f"32 {name}"))):
        attack.attack(*trial)
    figures = attack.figures
    print(attack.counts)
    table(
        f"failing calls, {name}",
        **{
            key: figures[key]
            for key in ("failed", "lost", "orphans", "tracebacks", "hangs", "internal", "unsaid")
        },
    )
    assert not figures["hangs"] and not figures["internal"] and not figures["unsaid"]
