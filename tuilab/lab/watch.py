"""Watches a user's program: starts it or attaches to it, and keeps its page up to date."""

import contextlib
import itertools
import os
import platform
import re
import sqlite3
import sys
import tempfile
import threading
import time
import uuid
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from time import process_time

import msgspec

from tuilab import observer
from tuilab.lab.devices import Devices
from tuilab.lab.shown_program import ShownProgram
from tuilab.model.errors import InputError
from tuilab.model.files import read_regular, write_text
from tuilab.model.program import PREFIX, Bottleneck, Caught, Facts, Hello, Page, Told, Tried, Window
from tuilab.model.sanitize import sanitize_error, sanitize_line
from tuilab.paths import data_folder, private_folder
from tuilab.program.case import Beside
from tuilab.program.fold import Process
from tuilab.program.gains import with_trial
from tuilab.program.loads import Loads
from tuilab.program.page import busiest, page_of
from tuilab.program.source import function_of_step
from tuilab.program.window import look
from tuilab.runner import watched
from tuilab.runner.watched import command_of as command_of
from tuilab.runner.watched import end_as as end_as
from tuilab.runner.watched import is_python as is_python

BESIDE_S = 5.0
KEPT_EVERY_S = 15.0
MOST_READ = 12
"""Maximum number of profiler windows to read per process. Reading a window takes about a second of CPU time.
"""
READING, LEAST_READ = 0.02, 2
"""Limits for reading profiler windows: at most the share `READING` of the program's CPU time, but at least
`LEAST_READ` windows for each kind of step.
"""
LONGEST_SOURCE = 2**20
LIVE_S, PAGE_SHARE = 0.5, 20
"""Minimum time between two updates of a live page: `LIVE_S` seconds or `PAGE_SHARE` times the duration of an
update, whichever is longer.
"""
TAIL = 2**16
"""Number of output bytes to search for the last lines. Large, because a progress bar writes many bytes into a
single line.
"""
MOST_SHOWN = 5_000
OF_THE_WINDOWS = re.compile(r"^(?:I0000 |\S+ \S+: I ).*\b(?:profiler_session|save_profile)\.cc:")
"""Matches messages of TensorFlow's profiler about windows. They are not part of the program's own output."""
_SECRET = ("key", "token", "secret", "password", "passwd", "credential", "auth")


@dataclass
class WatchOptions:
    """Options for watching.

    every, window: seconds between profiler windows, and seconds per window. With `every` 0, windows take the
    share `share` of the program's time.
    """

    every: float = 0.0
    window: float = 0.4
    share: float = 0.02
    once: bool = False
    card: str = ""
    """The GPU for which to estimate the best case, such as `h100`; "" for the default."""

    def words(self) -> str:
        return f"every={self.every},window={self.window},share={self.share},once={int(self.once)}"


@dataclass
class Watched:
    command: tuple[str, ...]
    began: float = field(default_factory=time.time)
    ended: float | None = None
    exit_code: int | None = None
    processes: dict[int, Process] = field(default_factory=dict)
    files: dict[int, list[tuple[Window, Path]]] = field(default_factory=dict)
    reading_s: dict[int, float] = field(default_factory=lambda: defaultdict(float))
    """CPU time for reading the windows of each process, in seconds."""
    faults: list[str] = field(default_factory=list)
    program: str = field(default_factory=lambda: new_id())
    """The program's id in the history; "" if another machine saves the page."""
    chosen: int = 0
    """Process id of the process whose page is shown; 0 for the busiest process."""
    kept_at: float = field(default_factory=time.time)
    processors_began: float = field(default_factory=process_time)
    card: str = ""
    tried: dict[tuple[str, str, int], Tried] = field(default_factory=dict)
    """Trials of findings on the program's step, by `Bottleneck.key` (code, file and line of the finding)."""
    place: Beside = field(default_factory=Beside)
    looked_beside: float = 0.0
    loads: Loads = field(default_factory=Loads)
    devices: Devices = field(default_factory=Devices)
    _messages: int = 0
    _built: tuple[object, Page] | None = None
    """For a program that has ended: the facts from which the page was built, and the page."""

    def sample(self) -> None:
        """Sample the devices if the program runs training steps and a sample is due."""
        of = self.busiest
        if of is None or of.hello is None or not of.kind or of.ended:
            return
        if (sample := self.devices.read(of.hello.pid)) is not None:
            self.loads.add(sample)

    def take(self, number: int, told: Told, file: Path | None) -> None:
        self._messages += 1
        if isinstance(told, Hello) or number not in self.processes:
            self.processes[number] = Process()
        self.processes[number].apply(told)
        if isinstance(told, Facts) and told.memory and time.time() - self.looked_beside > BESIDE_S:
            self.looked_beside = time.time()
            others, memory = find_others(self)
            self.place = Beside(others=tuple(others), memory=memory)
        if time.time() - self.kept_at > KEPT_EVERY_S:
            self.kept_at = time.time()
            self.keep()
        if isinstance(told, Window) and file is not None:
            files = self.files.setdefault(number, [])
            files.append((told, file))
            if len(files) > 4 * MOST_READ:  # a window takes about 1 MB on the disk
                for _, old in files[1::2]:
                    old.unlink(missing_ok=True)
                del files[1::2]
            self.read(1)

    def keep(self) -> str:
        """Save the page in the history. Returns the reason for a failure, or ""."""
        return keep(self.program, self.page()) if self.program else ""

    def read(self, least: int = LEAST_READ) -> None:
        """Read new profiler windows within the limit on CPU time, starting with the first, the last and the
        middle window.

        least: number of windows of each kind of step that are always read.
        """
        for number, files in self.files.items():
            process = self.processes[number]
            done = {window for window, _ in process.windows}
            kinds = Counter(window.step for window in done)
            few = files[:: max(1, -(-len(files) // MOST_READ))]
            for window, file in (few[index] for index in spread(len(few))):
                if window in done or not file.exists():
                    continue
                begun = process_time()
                if kinds[window.step] >= least and self.reading_s[number] > READING * process.cpu:
                    continue
                kinds[window.step] += 1
                try:
                    process.looked(window, look(file.read_bytes(), process.times().median_s or 0.0))
                except Exception as error:
                    self.faults.append(f"a profiler window could not be read: {sanitize_error(error)}")
                self.reading_s[number] += process_time() - begun

    def finish(self, faults: Iterable[str]) -> None:
        """Read the remaining data of a program that has ended, and save the page."""
        self.faults += faults
        self.devices.close()
        self.read()
        self.beside()
        if why := self.keep():
            self.faults.append(why)

    def beside(self) -> None:
        self.place = place_of(self.processes.values(), self.place.others, self.place.memory)

    @property
    def busiest(self) -> Process | None:
        return busiest(self.processes.values())

    def page(self) -> Page:
        """Return the current page. For a program that has ended, the page is cached."""
        windows = sum(len(process.windows) for process in self.processes.values())
        seen = self._messages, windows, tuple(self.faults), self.place
        facts = self.exit_code, self.ended, seen, self.chosen, tuple(self.tried.items())
        if self.exit_code is None or self._built is None or self._built[0] != facts:
            self._built = facts, self._page()
        return self._built[1]

    def _page(self) -> Page:
        page = page_of(
            list(self.processes.values()),
            command=without_secrets(self.command),
            exit_code=self.exit_code,
            host=platform.node(),
            at=datetime.fromtimestamp(self.began, UTC).isoformat(timespec="seconds"),
            lasted_s=(self.ended or time.time()) - self.began,
            began=self.began,
            faults=self.faults,
            sources=sources(self.processes.values()),
            place=self.place,
            loads=self.loads.rows(),
            pid=self.chosen,
            processors_s=lambda: process_time() - self.processors_began,
            card=self.card,
        )
        if not self.tried:
            return page
        findings = tuple(
            with_trial(each, self.tried.get(each.key), page.lasted_s, page.steps) for each in page.findings
        )
        return msgspec.structs.replace(page, findings=findings)


def spread(count: int) -> list[int]:
    """Return the indices from 0 to `count` - 1 in an order that starts with both ends and the middle, and
    then fills the gaps evenly.
    """
    order, gap = dict.fromkeys((0, count - 1) if count else ()), count
    while len(order) < count:
        gap = max(1, gap // 2)
        order |= dict.fromkeys(range(0, count, gap))
    return list(order)


def watch(command: Sequence[str], options: WatchOptions) -> Watched:
    """Start the program and watch it until it ends. Call only from the main thread.

    Raises InputError if the program cannot be started.
    """
    words = command_of(command)
    # this process was started only to watch, so its import time is a cost of watching
    program = Watched(tuple(words), card=options.card, processors_began=0.0)
    listener = watched.Listener(program.take, program.sample)
    try:
        program.exit_code = watched.run(words, listener, options.words())
        program.ended = time.time()
        listener.close()
        program.finish(listener.faults)
    finally:
        listener.close()
        listener.remove()
    return program


class Watching(ShownProgram):
    """A program that is watched while a screen uses the terminal. Raises InputError if the command is
    empty.
    """

    def __init__(self, command: Sequence[str], options: WatchOptions) -> None:
        self.program = Watched(tuple(command_of(command)), card=options.card)
        super().__init__(self.program.page())
        self.options = options
        self.hosted: watched.Hosted | None = None
        self._listener: watched.Listener | None = None
        self._due, self._told, self._placed = 0.0, 0, False
        self._over = threading.Event()

    @property
    def running(self) -> bool:
        return self.hosted is not None and self.program.exit_code is None

    @property
    def now(self) -> Page:
        ended = self.program.ended or time.time()
        return msgspec.structs.replace(self.page, lasted_s=ended - self.program.began)

    def start(self, size: tuple[int, int]) -> None:
        """Start the program in a terminal of `size` (columns, rows). Raises InputError on failure."""
        self._listener = watched.Listener(self.take, self._rest)
        try:
            self.hosted = watched.Hosted(
                self.program.command,
                self._listener,
                self.options.words(),
                size=size,
                heard=self._heard,
                ended=self._ended,
            )
        except InputError:
            self._listener.close()
            self._listener.remove()
            raise

    def _heard(self, data: bytes) -> None:
        self.wrote(data)
        self.changed()

    def take(self, number: int, told: Told, file: Path | None) -> None:
        self.program.take(number, told, file)
        self._told += 1
        if isinstance(told, Caught):
            self.caught(told)
        if isinstance(told, Window):
            self.program.read()
        if isinstance(told, Facts) and told.opened and not self._placed:
            self._placed = True
            self.program.beside()

    def _rest(self) -> None:
        self.program.sample()
        if self._told and time.monotonic() >= self._due:
            begun = time.monotonic()
            self.draw()
            # Building the page of a long run is slow and takes CPU time from the program.
            self._due = time.monotonic() + max(LIVE_S, PAGE_SHARE * (time.monotonic() - begun))

    def draw(self) -> None:
        """Build the page again. If this fails, add a note to the page; the program continues."""
        self._told = 0
        try:
            self.page = self.program.page()
        except Exception as error:
            fault = f"the page could not be updated: {sanitize_error(error)}"
            notes = tuple(dict.fromkeys((*self.page.notes, *self.program.faults, fault)))
            self.page = msgspec.structs.replace(self.page, notes=notes)
        of = self.program.busiest
        self.steps = dict(list(of.durations().items())[-MOST_SHOWN:]) if of is not None else {}
        self.changed()

    def choose(self, index: int) -> None:
        self.program.chosen = self.rows[index].pid
        self.draw()

    def output(self, lines: int) -> list[str]:
        return last_lines(bytes(self.hosted.output[-TAIL:]) if self.hosted is not None else b"", lines)

    def resize(self, columns: int, rows: int) -> None:
        if self.hosted is not None:
            self.hosted.resize(columns, rows)

    def catch(self, number: int | None = None) -> str:
        """Save a function of the busiest process to a folder, like `ShownProgram.catch`."""
        of = self.program.busiest
        key = of.step if of is not None and number is None else number
        if of is None or key is None:
            raise LookupError("none of the program's steps is a tf.function")
        if isinstance(key, int):
            name = of.functions[key].name.rpartition(".")[2]
        elif of.tapes[key][1]:
            name = "train_step"
        elif not (name := function_of_step(sources([of]), *key)):
            raise LookupError("the step's code is in a loop: move it into its own function")
        process = next(n for n, each in self.program.processes.items() if each is of)
        words = {"catch": key, "folder": str(_caught_folder(name)), "captured": str(observer.CAPTURE)}
        if not self.running or self._listener is None or not self._listener.ask(process, **words):
            raise LookupError("the program has ended")
        return name

    @property
    def python(self) -> str:
        """Path of the program's Python interpreter; "" for the lab's own."""
        hello = self.program.busiest.hello if self.program.busiest is not None else None
        own = hello is None or os.path.realpath(hello.executable) == os.path.realpath(sys.executable)
        return "" if own or hello is None else hello.executable

    def note_trial(self, finding: Bottleneck, tried: Tried) -> Tried:
        self.program.tried[finding.key] = tried
        self.draw()
        if self.program.exit_code is not None:
            self.program.keep()
        shown = (each.tried for each in self.page.findings if each.key == finding.key)
        return next(shown, None) or tried

    def type(self, text: str) -> None:
        if self.hosted is not None:
            self.hosted.type(text.encode())

    def signal(self, number: int) -> None:
        if self.hosted is not None:
            self.hosted.signal(number)

    def _ended(self, code: int) -> None:
        assert self._listener is not None
        self.program.exit_code, self.program.ended = code, time.time()
        self._listener.close()
        try:
            self.program.finish(self._listener.faults)
        except Exception as error:
            self.program.faults.append(f"the page could not be saved: {sanitize_error(error)}")
        self._listener.remove()
        self.draw()
        self._over.set()

    @property
    def exit_code(self) -> int | None:
        return self.program.exit_code

    def wait(self, seconds: float) -> bool:
        return self._over.wait(seconds)

    def leave(self) -> Watched:
        """Connect the program to this process's terminal after the screen has closed, and wait until the
        program ends.
        """
        if self.hosted is not None:
            self.changed = lambda: None
            self.hosted.hand_over()
            self._over.wait()
        return self.program


def last_lines(raw: bytes, lines: int) -> list[str]:
    """Return the last lines of terminal output, as a terminal would show them."""
    text = raw.decode(errors="replace").replace("\r\n", "\n")
    # text after a carriage return overwrites the line
    stand = (line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    found = [line for line in stand if not OF_THE_WINDOWS.match(line)]
    return [sanitize_line(line, 500) for line in (found[:-1] if not found[-1] else found)[-lines:]]


def _caught_folder(name: str) -> Path:
    folder = private_folder(data_folder() / "captured")
    plain = "".join(c if c.isalnum() or c in "_-" else "_" for c in name)[:100] or "function"
    numbered = (folder / (plain if index == 1 else f"{plain}-{index}") for index in itertools.count(1))
    return next(path for path in numbered if not path.exists())


def attach(address: str, seconds: float) -> Watched:
    """Take a single profile of a program that runs TensorFlow's profiler server at HOST:PORT.

    Such a program has no observer, so the page has parts and ops but no source lines or traces. Raises
    InputError if no program answers.
    """
    program = Watched(("--attach", address))
    with tempfile.TemporaryDirectory(prefix="tuilab-watch-") as folder:
        seen = look(watched.attach(address, Path(folder), seconds))
    process = program.processes[1] = Process()
    process.looked(Window(start=0.0, end=seconds), seen)
    program.ended = time.time()
    return program


def place_of(processes: Iterable[Process], others: Sequence[str], memory: Mapping[str, int]) -> Beside:
    """Describe this machine and its GPUs. If the machine has a GPU but TensorFlow sees none, the doctor looks
    for the cause, with the program's Python and environment.
    """
    from tuilab.doctor import hardware
    from tuilab.doctor.place import Place

    found = Beside(gpus=len(hardware.look(Place()).nvidia), others=tuple(others), memory=memory)
    facts = [process for process in processes if process.facts and process.facts.opened]
    blind = [one for one in facts if one.facts and not any(row[1] == "GPU" for row in one.facts.physical)]
    if not found.gpus or not blind or blind[0].hello is None:
        return found
    if blind[0].facts is not None and blind[0].facts.changed.get("CUDA_VISIBLE_DEVICES"):
        return found
    from tuilab.doctor.examine import examine
    from tuilab.interpreter import environment

    hello = blind[0].hello
    variables = {name: value for name, value in hello.environment.items() if value is not None}
    own = environment(hello.executable)
    if own is None:  # the program uses the lab's Python
        where = Place(environ={**os.environ, **variables})
    else:
        where = Place.of(msgspec.structs.replace(own, variables=variables))
    report = examine(where)
    change = str(report.mend[0]) if report.mend else ""
    return replace(found, no_gpu=report.cause, no_gpu_change=change)


def find_others(program: "Watched") -> tuple[list[str], dict[str, int]]:
    """Return the other processes that use GPU memory, and the size of each GPU's memory in bytes. Both
    results are empty if the GPU driver is missing.
    """
    from tuilab.telemetry.sampler import open_nvml

    try:
        nvml = open_nvml()
    except Exception:
        return [], {}
    own = {process.hello.pid for process in program.processes.values() if process.hello}
    others, memory = list[str](), dict[str, int]()
    for index in range(nvml.count):
        sample = nvml.sample(index)
        others += [one.name or str(one.pid) for one in sample.processes or () if one.pid not in own]
        if sample.memory_total:
            memory[f"GPU:{index}"] = sample.memory_total
    nvml.close()
    return others, memory


def sources(processes: Iterable[Process]) -> dict[str, str]:
    """Return the text of the user's source files, by the file name that the events use."""
    out = {}
    for process in processes:
        names = {process.hello.script} if process.hello else set()
        names |= set(process.facts.files if process.facts else ())
        for name in sorted(names - {""}):
            folder = Path(process.hello.folder if process.hello else ".")
            with contextlib.suppress(InputError, UnicodeDecodeError):
                out[name] = read_regular(folder / name, LONGEST_SOURCE).decode("utf-8")
    return out


def without_secrets(command: Sequence[str]) -> tuple[str, ...]:
    """Return the command without the values of options such as `--api-key`, for display and storage."""
    out, hide = [], False
    for word in command:
        name, equals, _ = word.partition("=")
        secret = any(part in name.lower() for part in _SECRET) and (name.startswith("-") or bool(equals))
        if hide:
            out.append("…")
        elif secret and equals:
            out.append(f"{name}=…")
        else:
            out.append(sanitize_line(word, 500))
        hide = secret and not equals and not hide and os.sep not in name
    return tuple(out)


def export(text: str, ending: str) -> Path:
    now = datetime.now().strftime("%Y%m%d-%H%M%S")
    file = Path.cwd() / f"tuilab-watch-{now}.{ending}"
    write_text(file, [text])
    return file


def keep(program: str, page: Page) -> str:
    """Save a page in the history under the id `program`. Returns the reason for a failure, or ""."""
    from tuilab.history import programs
    from tuilab.history.store import Store

    try:
        with contextlib.closing(Store.open()) as store:
            programs.keep(store, program, page)
            if store.file is None or store.file.parent != data_folder():
                return (
                    "the program has not been saved to the history yet: "
                    f"{sanitize_line(store.messages[0], 300)}"
                )
    except (sqlite3.Error, OSError) as error:
        return f"the program could not be saved to the history: {sanitize_line(str(error), 200)}"
    return ""


def new_id() -> str:
    return PREFIX + uuid.uuid4().hex[:15]


def earlier(limit: int) -> list[tuple[str, Page]]:
    """Return the latest watched programs in the history, as pairs of id and page."""
    from tuilab.history import programs
    from tuilab.history.store import Store

    with contextlib.closing(Store.open(to_read=True)) as store:
        return programs.listed(store, limit)


def load_page(start: str) -> Page:
    """Return the page of the watched program whose id starts with `start`. Raises InputError."""
    from tuilab.history import programs
    from tuilab.history.store import Store

    with contextlib.closing(Store.open(to_read=True)) as store:
        return programs.find(store, start)
