"""Faults that are injected into the real program at a random point, each with its expected effect."""

import contextlib
import os
import random
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests import calling
from tests.faults.trial import REACTS_S, START_S, Trial
from tests.terminal.terminal import Terminal
from tuilab.history.store import FILE

Fault = Callable[[Trial, random.Random], None]
ROUNDS = 14
EVERY_S = 0.06
"""Seconds between rounds: long enough for the run to continue until the last fault is injected."""
FAULTS: dict[str, Fault] = {}


def fault(run: Fault) -> Fault:
    FAULTS[run.__name__.replace("_", "-")] = run
    return run


# Steps


def opened(trial: Trial, worker: dict[str, object] | None = None, **given: object) -> Terminal:
    terminal = trial.open({"rounds": ROUNDS, "every_s": EVERY_S, **(worker or {})}, **given)  # type: ignore[arg-type]
    terminal.see("ready, r measures", seconds=START_S)
    return terminal


def amid(terminal: Terminal, rng: random.Random) -> None:
    terminal.press("r")
    terminal.see("round", "x stops", seconds=REACTS_S)
    time.sleep(rng.uniform(0.0, 0.4))


def reacts(terminal: Terminal) -> None:
    terminal.press("?")
    terminal.see("─ Help ─", seconds=REACTS_S)
    terminal.press("\x1b")
    terminal.until(lambda: "─ Help ─" not in terminal.text, REACTS_S, "the help page closed")


def works(terminal: Terminal) -> None:
    reacts(terminal)
    # the run waits until the worker is replaced
    terminal.press("r")
    done(terminal)


def leaves(terminal: Terminal, code: int = 0) -> None:
    terminal.press("q")
    assert terminal.ended(REACTS_S) == code


def done(terminal: Terminal) -> None:
    terminal.see(f"done, {ROUNDS} rounds", seconds=START_S)


def cannot_be_written(terminal: Terminal) -> None:
    """Assert that the screen reports that files cannot be written.

    If the run ended without this message, starts another run, whose data cannot be written either.
    """
    words = "not saved: "
    terminal.until(lambda: terminal.shows(words) or terminal.shows("done,"), REACTS_S, words)
    try:
        terminal.see(words, seconds=2.0)
    except TimeoutError:
        terminal.press("r")
        terminal.see(words, seconds=REACTS_S)
    reacts(terminal)


def killed(terminal: Terminal) -> None:
    terminal.signal(signal.SIGKILL)
    terminal.ended()


def elsewhere(terminal: Terminal, rng: random.Random) -> None:
    """Wait until the lab reports that the home folder is unusable and that runs are saved elsewhere."""
    terminal.see("for now", seconds=START_S)
    terminal.see("ready, r measures", seconds=START_S)
    amid(terminal, rng)


def found_again(trial: Trial, *words: str, **given: object) -> Terminal:
    terminal = trial.open({"rounds": ROUNDS}, **given)  # type: ignore[arg-type]
    terminal.see(*words, seconds=START_S)
    return terminal


# The worker


def _worker_dies(how: str, *words: str) -> None:
    def run(trial: Trial, rng: random.Random) -> None:
        at = rng.randint(1, ROUNDS)
        terminal = opened(trial, {"faults": {str(at): how}, "once": str(trial.folder / "once")})
        terminal.press("r")
        terminal.see("the run failed", *words, seconds=START_S)
        works(terminal)
        leaves(terminal)

    run.__name__ = f"worker_{how}".replace("-", "_")
    fault(run)


_worker_dies("segv", "SIGSEGV")
_worker_dies("kill", "SIGKILL")
_worker_dies("abort", "SIGABRT")
_worker_dies("exit", "code 7")
_worker_dies("memory-error", "MemoryError")
_worker_dies("allocate", "MemoryError")


@fault
def device_out_of_memory(trial: Trial, rng: random.Random) -> None:
    at = rng.randint(1, ROUNDS - 1)
    terminal = opened(trial, {"faults": {str(at): "device-memory"}})
    terminal.press("r")
    done(terminal)
    terminal.press("c")
    terminal.see("ResourceExhausted", seconds=REACTS_S)
    leaves(terminal)


def hung(trial: Trial, rng: random.Random, how: str) -> tuple[Terminal, int]:
    """Return a lab whose worker hangs once during the run, and the number of rounds before the hang."""
    at = rng.randint(1, ROUNDS)
    terminal = opened(trial, {"faults": {str(at): how}, "once": str(trial.folder / "once")})
    terminal.press("r")
    terminal.see(f"round {at}", seconds=START_S)
    return terminal, at


def _worker_hangs(how: str) -> None:
    def run(trial: Trial, rng: random.Random) -> None:
        terminal, at = hung(trial, rng, how)
        reacts(terminal)
        terminal.press("x")
        terminal.see(f"stopped after {at} round", seconds=REACTS_S)
        reacts(terminal)
        terminal.press("r")  # continues the stopped run in another process
        terminal.see(f"done, {at + ROUNDS} rounds of 2 processes", seconds=START_S)
        leaves(terminal)

    run.__name__ = f"worker_{how}s".replace("-", "_")
    fault(run)


_worker_hangs("hang")
_worker_hangs("hang-hard")


@fault
def worker_hangs_and_the_lab_is_left(trial: Trial, rng: random.Random) -> None:
    terminal, _ = hung(trial, rng, rng.choice(["hang", "hang-hard"]))
    leaves(terminal)


@fault
def worker_talks_nonsense(trial: Trial, rng: random.Random) -> None:
    terminal = opened(trial, {"faults": {str(rng.randint(1, ROUNDS)): "noise"}})
    terminal.press("r")
    done(terminal)
    terminal.press("9")
    terminal.see("not an event", seconds=REACTS_S)
    leaves(terminal)


@fault
def worker_killed_at_any_time(trial: Trial, rng: random.Random) -> None:
    terminal = opened(trial)
    amid(terminal, rng)
    for pid in workers(trial):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    terminal.until(lambda: terminal.shows("SIGKILL") or terminal.shows("done,"), REACTS_S, "the end is said")
    works(terminal)
    leaves(terminal)


@fault
def worker_cannot_start(trial: Trial, rng: random.Random) -> None:
    """The lab reports the failure, and starts the worker again when the user measures."""
    terminal = trial.open({"stillborn": str(trial.folder / "born"), "rounds": ROUNDS})
    terminal.see("cannot start", seconds=START_S)
    reacts(terminal)
    (trial.folder / "born").touch()
    terminal.press("r")
    done(terminal)
    leaves(terminal)


def workers(trial: Trial) -> list[int]:
    return [pid for pid, command in trial.processes().items() if "tuilab.worker" in command]


# The lab


@fault
def lab_killed(trial: Trial, rng: random.Random) -> None:
    """After the lab is killed during a run, the worker finishes the run, and the next start imports it."""
    terminal = opened(trial)
    amid(terminal, rng)
    killed(terminal)
    gone_alone(trial)
    again = found_again(trial, "in the history")
    works(again)
    leaves(again)


@fault
def lab_killed_where_runs_are_to_end(trial: Trial, rng: random.Random) -> None:
    """A lab with `--hangup end` is killed. Its run ends, and each round is saved."""
    terminal = opened(trial, hangup="end")
    amid(terminal, rng)
    killed(terminal)
    assert not trial.alone(), "a worker outlived its lab"
    leaves(found_again(trial, "in the history"))


@fault
def lab_and_worker_killed(trial: Trial, rng: random.Random) -> None:
    """The lab and its worker are killed together, as on a machine that is out of memory."""
    terminal = opened(trial)
    amid(terminal, rng)
    for pid in trial.processes():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    terminal.ended()
    leaves(found_again(trial, "in the history"))


@fault
def lab_killed_while_its_worker_hangs(trial: Trial, rng: random.Random) -> None:
    """The next start reports the hung worker, and a command can end it."""
    terminal, _ = hung(trial, rng, rng.choice(["hang", "hang-hard"]))
    killed(terminal)
    leaves(found_again(trial, "is still running in the background"))
    command(trial, "history", "unattended", "--stop")
    assert not trial.alone(), "the hung worker was not ended"


@fault
def lab_killed_while_warming(trial: Trial, rng: random.Random) -> None:
    terminal = trial.open({"warm_s": 30})
    terminal.see("importing TensorFlow", seconds=START_S)
    time.sleep(rng.uniform(0.0, 0.3))
    killed(terminal)


@fault
def lab_has_a_fault_of_its_own(trial: Trial, rng: random.Random) -> None:
    """The lab prints one line, writes details to a file, and exits with code 70. The worker finishes the
    run.
    """
    terminal = opened(trial, faulty=True, env={"XDG_STATE_HOME": str(trial.folder / "state")})
    amid(terminal, rng)
    terminal.press("?")
    assert terminal.ended(REACTS_S) == 70
    lines = [line for line in terminal.last_words.splitlines() if line.strip()]
    assert (
        "stopped because of an internal error (ZeroDivisionError: division by zero). All runs are saved"
        in lines[0]
    ), lines
    assert "Traceback" in (trial.folder / "state" / "tuilab" / "tuilab-fault.txt").read_text()
    gone_alone(trial)
    leaves(found_again(trial, "in the history"))
    assert any(len(rounds) == ROUNDS for rounds in trial.kept().values()), trial.kept()


@fault
def lab_terminated(trial: Trial, rng: random.Random) -> None:
    terminal = opened(trial)
    amid(terminal, rng)
    terminal.signal(signal.SIGTERM)
    assert terminal.ended(REACTS_S) == 128 + signal.SIGTERM
    assert not trial.alone()


@fault
def lab_left_during_a_run(trial: Trial, rng: random.Random) -> None:
    terminal = opened(trial)
    amid(terminal, rng)
    leaves(terminal)


@fault
def second_start_while_warming(trial: Trial, rng: random.Random) -> None:
    """Two labs use the same store. The second lab starts while the worker of the first one is starting."""
    first = trial.open({"rounds": ROUNDS, "warm_s": 1.5})
    first.see("importing TensorFlow", seconds=START_S)
    time.sleep(rng.uniform(0.0, 0.5))
    second = trial.open({"rounds": ROUNDS})
    second.see("ready, r measures", seconds=START_S)
    for terminal in (first, second):
        terminal.press("r")
    for terminal in (first, second):
        done(terminal)
    command(trial, "history", "--json")
    leaves(first)
    leaves(second)
    assert len(trial.reported) == 2


# The terminal


@fault
def line_drops(trial: Trial, rng: random.Random) -> None:
    """After HUP, the worker finishes the run without a screen, and the next start finds the run."""
    terminal = opened(trial)
    amid(terminal, rng)
    terminal.hang_up()
    terminal.ended(REACTS_S)
    gone_alone(trial)
    leaves(found_again(trial, "in the history"))


@fault
def line_drops_where_runs_are_to_end(trial: Trial, rng: random.Random) -> None:
    terminal = opened(trial, hangup="end")
    amid(terminal, rng)
    terminal.hang_up()
    terminal.ended(REACTS_S)
    assert not trial.alone()


@fault
def line_drops_at_rest(trial: Trial, rng: random.Random) -> None:
    """HUP arrives while nothing is measured, so all processes end."""
    terminal = opened(trial)
    time.sleep(rng.uniform(0.0, 0.3))
    terminal.hang_up()
    terminal.ended(REACTS_S)
    assert not trial.alone()


@fault
def terminal_gone_without_a_signal(trial: Trial, rng: random.Random) -> None:
    """Closing a terminal that does not control the session sends no HUP; it only closes standard input and
    output.
    """
    how = rng.choice(["finish", "end"])
    terminal = opened(trial, controlling=False, hangup=how)
    amid(terminal, rng)
    terminal.hang_up()
    terminal.ended(REACTS_S)
    if how == "finish":
        gone_alone(trial)


@fault
def resized_while_it_paints(trial: Trial, rng: random.Random) -> None:
    terminal = opened(trial)
    terminal.press("r")
    for _ in range(60):
        terminal.resize(rng.choice([1, 2, 20, 59, 80, 120, 200, 500]), rng.choice([1, 3, 12, 24, 40, 90]))
        if rng.random() < 0.3:
            terminal.signal(signal.SIGWINCH)
        time.sleep(rng.uniform(0.0, 0.02))
    terminal.resize(120, 40)
    terminal.see("Presets", "Controls", "Placement", "palette", seconds=REACTS_S)
    done(terminal)
    works(terminal)
    leaves(terminal)


@fault
def keys_in_a_storm(trial: Trial, rng: random.Random) -> None:
    terminal = opened(trial)
    keys = [*"rxslbuU0123456789[]acdgkfpty?", "\x1b[A", "\x1b[B", "\x1b[C", "\x1b[D", "\t", "\x1b", "\r", " "]
    for _ in range(120):
        terminal.press(rng.choice(keys))
        time.sleep(rng.uniform(0.0, 0.01))
    terminal.press("\x1b")
    time.sleep(0.1)
    terminal.press("\x1b\x1b")
    for _ in range(8):
        with contextlib.suppress(TimeoutError):
            terminal.see("r run", "palette", seconds=0.5)
            break
        terminal.press("\x1b")
    # on a busy machine, Escape and the next key may be read as one key
    for _ in range(10):
        time.sleep(0.3)
        terminal.press("\x11")
        with contextlib.suppress(TimeoutError):
            terminal.ended(1.0)
            break
    assert terminal.ended(REACTS_S) == 0, terminal.text


# The store


@contextlib.contextmanager
def locked(trial: Trial) -> Iterator[None]:
    other = sqlite3.connect(trial.data / FILE, isolation_level=None, timeout=5, check_same_thread=False)
    other.execute("BEGIN EXCLUSIVE")
    try:
        yield
    finally:
        other.execute("ROLLBACK")
        other.close()


@fault
def store_locked(trial: Trial, rng: random.Random) -> None:
    """The lock is temporary. The lab reports it, and later writes all data."""
    terminal = opened(trial)
    with locked(trial):
        amid(terminal, rng)
        cannot_be_written(terminal)
    terminal.see("writable again", seconds=REACTS_S)
    works(terminal)
    leaves(terminal)


@fault
def store_locked_to_the_end(trial: Trial, rng: random.Random) -> None:
    """The lock remains until the end, so the data goes to a file that can be imported."""
    terminal = opened(trial)
    with locked(trial):
        amid(terminal, rng)
        leaves(terminal)
    import_named_file(trial, terminal)


@fault
def store_locked_and_the_lab_killed(trial: Trial, rng: random.Random) -> None:
    """When the lab is killed, the store contains nothing of the run. After the next start, it contains the
    whole run.
    """
    terminal = opened(trial, hangup=rng.choice(["finish", "end"]))
    with locked(trial):
        amid(terminal, rng)
        killed(terminal)
    gone_alone(trial)
    leaves(found_again(trial, "in the history"))


@fault
def disk_full(trial: Trial, rng: random.Random) -> None:
    terminal = opened(trial, {"rounds": ROUNDS})
    soft, hard = resource.prlimit(terminal.process.pid, resource.RLIMIT_FSIZE)
    amid(terminal, rng)
    resource.prlimit(terminal.process.pid, resource.RLIMIT_FSIZE, (1_000, hard))
    cannot_be_written(terminal)
    resource.prlimit(terminal.process.pid, resource.RLIMIT_FSIZE, (soft, hard))
    terminal.see("writable again", seconds=REACTS_S)
    works(terminal)
    leaves(terminal)


@fault
def disk_full_for_lab_and_worker(trial: Trial, rng: random.Random) -> None:
    """The file system is full from the first round on. The lab reports this, and saves the data elsewhere."""
    small = trial.folder / "small"
    with tmpfs(small, "400k") as mounted:
        if not mounted:
            return
        terminal = opened(trial, env={"TUILAB_DATA": str(small / "data")})
        (small / "filler").write_bytes(b"")
        with contextlib.suppress(OSError), (small / "filler").open("wb") as stream:
            while True:
                stream.write(b"\0" * 4096)
                stream.flush()
        amid(terminal, rng)
        cannot_be_written(terminal)
        done(terminal)
        leaves(terminal)
        import_named_file(trial, terminal)


@fault
def store_damaged(trial: Trial, rng: random.Random) -> None:
    terminal = opened(trial)
    amid(terminal, rng)
    with (trial.data / FILE).open("r+b") as stream:
        stream.write(rng.randbytes(stream.seek(0, os.SEEK_END) if rng.random() < 0.5 else 4096))
    with contextlib.suppress(OSError), (trial.data / f"{FILE}-wal").open("r+b") as stream:
        stream.write(rng.randbytes(64))
    done(terminal)
    works(terminal)
    leaves(terminal)
    leaves(found_again(trial, "ready, r measures"))


@fault
def store_is_no_database(trial: Trial, rng: random.Random) -> None:
    trial.data.mkdir(exist_ok=True)
    rubbish = rng.randbytes(rng.randint(100, 10_000))
    (trial.data / FILE).write_bytes(rubbish)
    terminal = trial.open({"rounds": ROUNDS})
    terminal.see("it was renamed to", seconds=START_S)
    terminal.see("ready, r measures", seconds=START_S)
    amid(terminal, rng)
    done(terminal)
    leaves(terminal)
    assert any(file.read_bytes() == rubbish for file in trial.data.glob("history-damaged-*"))


# The home


@fault
def no_home(trial: Trial, rng: random.Random) -> None:
    """The data folder cannot be created, so runs are saved in a temporary folder. The next lab moves the
    runs to the data folder, which can then be created.
    """
    (trial.folder / "in-the-way").write_text("")
    bad = str(trial.folder / "in-the-way" / "data")
    home = {"TUILAB_DATA": bad, "HOME": str(trial.folder / "in-the-way"), "TMPDIR": str(trial.temporary)}
    terminal = trial.open({"rounds": ROUNDS}, env=home)
    elsewhere(terminal, rng)
    if rng.random() < 0.5:
        killed(terminal)
        gone_alone(trial)
    else:
        leaves(terminal)
    (trial.folder / "in-the-way").unlink()
    leaves(found_again(trial, "ready, r measures", env=home))
    trial.moved_to(Path(bad))


@fault
def read_only_home(trial: Trial, rng: random.Random) -> None:
    home = trial.folder / "small"
    with tmpfs(home, "4m") as mounted:
        if not mounted:
            return
        env = {"TUILAB_DATA": str(home / "data"), "HOME": str(home), "TMPDIR": str(trial.temporary)}
        terminal = opened(trial, env=env)
        leaves(terminal)
        subprocess.run(["mount", "-o", "remount,ro", str(home)], check=True)
        terminal = trial.open({"rounds": ROUNDS}, env=env)
        elsewhere(terminal, rng)
        done(terminal)
        works(terminal)
        leaves(terminal)
        subprocess.run(["mount", "-o", "remount,rw", str(home)], check=True)
        leaves(found_again(trial, "ready, r measures", env=env))
        assert not trial.lost(home / "data")


@fault
def home_that_is_not_yours(trial: Trial, rng: random.Random) -> None:
    if os.getuid() == 0:
        # root may write everywhere, so the program gives up this privilege
        before = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
        if not shutil.which(before[0]):
            return
        os.chown(trial.folder / "home", 65_534, 65_534)
    else:
        before = ()
    (trial.folder / "home").chmod(0o000)
    home = trial.folder / "home"
    env = {"HOME": str(home), "TUILAB_DATA": str(home / "data")}
    terminal = trial.open({"rounds": ROUNDS}, env=env, before=before)
    elsewhere(terminal, rng)
    done(terminal)
    leaves(terminal)
    (home).chmod(0o700)
    os.chown(home, os.getuid(), os.getgid())
    leaves(found_again(trial, "ready, r measures", env=env))
    trial.moved_to(home / "data")


# The clock


@fault
def clock_steps(trial: Trial, rng: random.Random) -> None:
    terminal = opened(trial, clock_step_s=rng.choice([-3_600, 86_400, -86_400 * 400]))
    amid(terminal, rng)
    (trial.folder / "step").touch()
    done(terminal)
    works(terminal)
    leaves(terminal)


# Helpers


def gone_alone(trial: Trial) -> None:
    """Assert that all processes that outlived the lab exit after the run."""
    assert not trial.alone(START_S), "an orphan"


def command(trial: Trial, *words: str) -> str:
    told = calling.run(trial.data, *words, seconds=60, env=trial.environment)
    assert told.returncode == 0 and "Traceback" not in told.stderr, told
    return told.stdout


def import_named_file(trial: Trial, terminal: Terminal) -> None:
    match = re.search(r"is saved in (\S+): tuilab history import", terminal.last_words)
    assert match, terminal.last_words
    name = match[1]
    command(trial, "history", "import", name)
    os.unlink(name)


@contextlib.contextmanager
def tmpfs(folder: Path, size: str) -> Iterator[bool]:
    """Mount a file system of this size. Yields True on success."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "tmpfs", str(folder)]
    if os.getuid() != 0 or subprocess.run(mount, capture_output=True).returncode:
        yield False
        return
    try:
        yield True
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=False)
