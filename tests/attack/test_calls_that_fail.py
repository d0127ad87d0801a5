"""The n-th call fails, for all n: each command that writes, with what it is to leave whole.

Short as it stands: some calls of each command; `--long` fails each one, once and for ever.
"""

import contextlib
import errno
import random
import re
import shutil
import sqlite3
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.attack.shim import FOREVER, Faulty, Outcome, faulty  # noqa: F401
from tests.attack.test_attack import PROGRAM, WORKER, linux, long, table  # noqa: F401
from tests.documents.test_check_options import CLOCK, NO_WAIT
from tests.made import regular_run
from tests.remote.server import REPOSITORY
from tuilab.history import spool
from tuilab.history.check import check
from tuilab.history.recording import write
from tuilab.history.store import FILE, Store
from tuilab.model import events as e
from tuilab.spool import DONE, folder

ERRORS = {"read": errno.EIO, "write": errno.ENOSPC, "sync": errno.EIO, "rename": errno.EACCES}
TRACE = re.compile(r"Traceback \(most recent call last\)|^  File \"", re.MULTILINE)
ROUNDS = 12
RUNS = {f"run{number}": 300 for number in range(3)}


@dataclass(frozen=True)
class Command:
    """words: those of the command line. measures: a worker plays its part. few: trials of each kind when short."""

    words: str
    measures: bool = False
    few: int = 2


COMMANDS = {
    "check --fix": Command("check own/clock.py own/more.md --fix --no-worker"),
    "check -o": Command("check own/wrong.py --json -o own/out.json --no-worker"),
    "check --write-baseline": Command("check own/wrong.py --write-baseline own/base.json --no-worker"),
    "import": Command("import own/article.md -o own/presets --overwrite"),
    "new": Command("new own/mine"),
    "export": Command("export run1 --format html -o own/page.html"),
    "history save": Command("history save run1 own/run.jsonl"),
    "history import": Command("history import own/other.jsonl"),
    "history tag": Command("history tag run1 good"),
    "history note": Command("history note run1 words"),
    "history pin": Command("history pin run1"),
    "history delete": Command("history delete run1"),
    "history undelete": Command("history undelete gone"),
    "history prune": Command("history prune --days 0"),
    "history check --repair": Command("history check --repair data/history-damaged-20260101-000000.db"),
    "history unattended": Command("history unattended"),
    "hosts": Command("hosts"),
    "run": Command("run stft-small --budget quick", measures=True, few=1),
    "profile -o": Command("profile stft-small -o own/profile", measures=True, few=1),
    "machine": Command("machine", measures=True, few=1),
}


def template(place: Path) -> Path:
    """A home with a history, documents and what a person wrote before."""
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
    store = Store.open(place / "data")
    for run, count in {**RUNS, "gone": 300}.items():
        keep(store, run, count)
    store.delete("gone")
    store.close()
    aside = Store.open(place / "aside")
    keep(aside, "aside", 300)
    aside.close()
    (place / "aside" / FILE).rename(place / "data" / "history-damaged-20260101-000000.db")
    shutil.rmtree(place / "aside")
    write(folder(place / "data") / f"left{DONE}", regular_run("left", 100))
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
    """A person's own files."""
    return {str(f.relative_to(place)): f.read_bytes() for f in (place / "own").rglob("*") if f.is_file()}


def rounds_in(file: Path) -> dict[str, int]:
    """What a history holds, deleted runs too, as far as it reads."""
    store = Store.at(file)
    try:
        return {
            run: sum(b'"type":"round"' in line[:40] for _, line in store.raw(run))
            for (run,) in store.connection.execute("SELECT run FROM runs")
        }
    finally:
        store.close()


@dataclass
class Figures:
    failed: int = 0
    lost: int = 0
    tracebacks: int = 0
    hangs: int = 0
    unsaid: int = 0
    internal: int = 0


class Attack:
    """One command under attack."""

    def __init__(self, faulty: Faulty, name: str, tmp: Path) -> None:  # noqa: F811
        self.faulty, self.name, self.command, self.tmp = faulty, name, COMMANDS[name], tmp
        self.home = template(tmp / "home")
        self.figures = Figures()
        self.after = {}
        self.play("", FOREVER, 1)
        self.after = files(self.place)
        assert self.outcome.code in (0, 1), self.outcome
        self.counts = {kind: self.count(kind) for kind in ERRORS}

    def count(self, kind: str) -> int:
        self.play(kind, FOREVER, 1)
        return self.outcome.calls

    def play(self, kind: str, at: int, times: int) -> Outcome:
        self.place = self.tmp / "place"
        shutil.rmtree(self.place, ignore_errors=True)
        shutil.copytree(self.home, self.place)
        worker = [sys.executable, WORKER, "0.001", str(self.place / "truth"), str(ROUNDS)]
        self.outcome = self.faulty.play(
            self.command.words.split(),
            (kind, at, times, ERRORS.get(kind, 0)),
            below=self.place,
            folder=self.place,
            worker=worker if self.command.measures else (),
            **environment(self.place),
        )
        return self.outcome

    def attack(self, kind: str, at: int, times: int) -> None:
        """One trial, and what is wrong with what it left."""
        done = self.play(kind, at, times)
        self.figures.failed += 1
        wrong = list(self.wrong(done))
        for name in wrong:
            setattr(self.figures, name, getattr(self.figures, name) + 1)
        if wrong:
            forever = "on" if times > 1 else "alone"
            print(f"{self.name}: {kind} {at} {forever}: {wrong} {done.code}\n{done.said[-1500:]}")

    def wrong(self, done: Outcome):
        if done.code == "hang":
            yield "hangs"
            return
        if TRACE.search(done.said):
            yield "tracebacks"
        if done.code == 70 or done.code not in (0, 1, 2, 3, 4):
            yield "internal"
        if done.code not in (0, 1) and not done.said.strip():
            yield "unsaid"
        if list(self.missing(done)):
            print(list(self.missing(done)))
            yield "lost"

    def missing(self, done: Outcome):
        """What a person lost by it."""
        before, now = files(self.home), files(self.place)
        for name, data in before.items():
            if now.get(name) not in (data, self.after.get(name)):
                yield f"{name}: {len(now.get(name, b''))} bytes"
        for name in now.keys() - before.keys():
            if now[name] != self.after.get(name):
                yield f"{name}: {len(now[name])} bytes of {len(self.after.get(name, b''))}"
        if done.code == 0 and now != self.after:
            yield f"done, it says, but {sorted(k for k in self.after if now.get(k) != self.after[k])}"
        yield from self.history(done)

    def history(self, done: Outcome):
        data = self.place / "data"
        with pytest.MonkeyPatch.context() as patch:
            for name, value in environment(self.place).items():
                patch.setenv(name, value)
            patch.setattr("tempfile.tempdir", str(self.place / "tmp"))
            store = Store.open()
            with contextlib.suppress(OSError):
                spool.collect_all(store, data)
            store.close()
        there: dict[str, int] = {}
        for file in data.glob("history*.db"):
            if (
                file.name == FILE
                or file.name in done.said
                or "20260101" in file.name
                or "recovered" in file.name
            ):
                for run, count in rounds_in(file).items():
                    there[run] = max(count, there.get(run, 0))
        for run, count in {**RUNS, "gone": 300, "aside": 300, "left": 100}.items():
            if there.get(run, 0) < count:
                yield f"{run}: {there.get(run)} of {count} rounds"
        for finding in check(data / FILE).findings:
            yield f"{finding.run}: {finding.what}"
        for truth in self.place.glob("truth.*"):
            run, measured = truth.name.partition(".")[2], truth.stat().st_size
            if there.get(run, 0) < measured and self.rescued(done, run) < measured:
                yield f"{run}: {there.get(run)} of {measured} measured rounds"
        if done.code == 0:
            yield from self.undone(data / FILE)

    def rescued(self, done: Outcome, run: str) -> int:
        found = re.search(r"is kept in (\S+\.jsonl)", done.said)
        if found is None or not Path(found[1]).exists():
            return 0
        return sum(b'"type":"round"' in line[:40] for line in Path(found[1]).read_bytes().splitlines())

    def undone(self, file: Path):
        """What the command said that it did and has not done."""
        wanted = {
            "history tag": "SELECT 1 FROM tags WHERE run = 'run1' AND tag = 'good'",
            "history note": "SELECT 1 FROM runs WHERE run = 'run1' AND note = 'words'",
            "history pin": "SELECT 1 FROM runs WHERE run = 'run1' AND pinned = 'ghost'",
            "history delete": "SELECT 1 FROM runs WHERE run = 'run1' AND deleted_at IS NOT NULL",
            "history undelete": "SELECT 1 FROM runs WHERE run = 'gone' AND deleted_at IS NULL",
            "history import": "SELECT 1 FROM runs WHERE run = 'other' AND deleted_at IS NULL",
            "history check --repair": "SELECT 1 FROM runs WHERE run = 'aside'",
        }.get(self.name)
        if wanted:
            with contextlib.closing(sqlite3.connect(file)) as connection:
                if not connection.execute(wanted).fetchone():
                    yield "done, it says, but it is not"


@linux
@pytest.mark.timeout(7_200)
@pytest.mark.parametrize("name", COMMANDS)
def test_whatever_call_fails_nothing_is_lost(name, faulty, tmp_path, long):  # noqa: F811
    attack, rng = Attack(faulty, name, tmp_path), random.Random(f"32 {name}")
    assert sum(attack.counts.values()), attack.counts
    for kind, count in attack.counts.items():
        every = range(1, count + 1)
        some = every if long else rng.sample(every, min(attack.command.few, count))
        for number in some:
            for times in (1, FOREVER) if long else (rng.choice([1, FOREVER]),):
                attack.attack(kind, number, times)
    figures = attack.figures
    print(attack.counts)
    table(
        f"failing calls, {name}", failed=figures.failed, lost=figures.lost, tracebacks=figures.tracebacks,
        hangs=figures.hangs, internal=figures.internal, unsaid=figures.unsaid,
    )  # fmt: skip
    assert not figures.hangs and not figures.internal and not figures.unsaid
