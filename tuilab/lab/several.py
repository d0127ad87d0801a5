"""Shows several watched programs: programs on other machines (through ssh), or saved pages."""

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import is_not
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tuilab.lab.shown_program import ShownProgram
from tuilab.lab.watch import (
    KEPT_EVERY_S,
    TAIL,
    Watching,
    WatchOptions,
    keep,
    last_lines,
    load_page,
    new_id,
    without_secrets,
)
from tuilab.model.errors import UNDECODED, InputError
from tuilab.model.far import Asked, Choose, Over, Resize, Said, Shown, Signal, Type, Wrote
from tuilab.model.files import read_regular
from tuilab.model.program import Caught, Page, ProcessRow, StepTimes, Together
from tuilab.model.sanitize import sanitize
from tuilab.processes import write_all
from tuilab.program.page import slowest
from tuilab.report.program import programs_text
from tuilab.runner.watched import KEPT_OUTPUT

LOCAL = "local"
LARGEST_PAGE = 64 * 2**20
ASKED = msgspec.json.Decoder[Asked](Asked)


if TYPE_CHECKING:
    from tuilab.runner.far import Far


class FarProgram(ShownProgram):
    """A program in a terminal on another machine. The other machine watches the program and builds its
    page.
    """

    def __init__(self, host: str, command: Sequence[str], options: WatchOptions) -> None:
        if not command:
            raise InputError("watch", "", "a program to start: train.py, -m module, or -- command")
        super().__init__(Page(command=without_secrets(command), host=host))
        self.host, self.options, self._command = host, options, tuple(command)
        self.exit_code: int | None = None
        self.program = new_id()
        self._began, self._kept_at = time.time(), time.time()
        self._written = bytearray()
        self._far: Far | None = None
        self._over = threading.Event()

    def start(self, size: tuple[int, int]) -> None:
        """Start the program in a terminal of `size` (columns, rows). Raises InputError if ssh is not
        installed.
        """
        from tuilab.runner.far import Far

        of = self.options
        words = [f"--far={size[0]}x{size[1]}", f"--folder={os.getcwd()}", f"--window={of.window}"]
        words += [f"--every={of.every}"] * bool(of.every) + ["--once"] * of.once
        self._far = Far(self.host, [*words, "--", *self._command], self._heard, self._lost)

    def _heard(self, said: Said) -> None:
        match said:
            case Wrote(data):
                self._written += data
                del self._written[:-KEPT_OUTPUT]
                self.wrote(data)
            case Shown(page, steps):
                rows = tuple(msgspec.structs.replace(row, host=self.host) for row in page.processes)
                self.page = msgspec.structs.replace(page, host=self.host, processes=rows)
                self.steps = steps
                if time.time() - self._kept_at > KEPT_EVERY_S:
                    self._kept_at = time.time()
                    keep(self.program, self.page)
            case Over(code):
                self._ended(code)
        self.changed()

    def _lost(self, why: str) -> None:
        self.page = msgspec.structs.replace(self.page, notes=(*self.page.notes, why))
        self._ended(None)
        self.changed()

    def _ended(self, code: int | None) -> None:
        self.exit_code = code
        self.page = msgspec.structs.replace(self.page, exit_code=code, lasted_s=time.time() - self._began)
        keep(self.program, self.page)
        self._over.set()

    @property
    def running(self) -> bool:
        return self._far is not None and not self._over.is_set()

    @property
    def catches(self) -> bool:
        """False, because the captured function would be saved on the other machine."""
        return False

    @property
    def now(self) -> Page:
        lasted = time.time() - self._began if self.running else self.page.lasted_s
        return msgspec.structs.replace(self.page, lasted_s=lasted)

    def choose(self, index: int) -> None:
        self._ask(Choose(self.rows[index].pid))

    def output(self, lines: int) -> list[str]:
        return last_lines(bytes(self._written[-TAIL:]), lines)

    def resize(self, columns: int, rows: int) -> None:
        self._ask(Resize(columns, rows))

    def catch(self, number: int | None = None) -> str:
        raise LookupError(f"capture a step on the machine where it runs, with `tuilab watch` on {self.host}")

    def type(self, text: str) -> None:
        self._ask(Type(text.encode()))

    def signal(self, number: int) -> None:
        self._ask(Signal(number))

    def _ask(self, what: Asked) -> None:
        if self._far is not None and self.running:
            self._far.ask(what)

    def wait(self, seconds: float | None = None) -> bool:
        return self._over.wait(seconds)


class Several(ShownProgram):
    """Several programs in one view. The page is that of the chosen program; the rows list the processes of
    all programs.
    """

    def __init__(self, programs: Sequence[ShownProgram]) -> None:
        self.programs, self.chosen = list(programs), 0
        self._pages = list[Page]()
        super().__init__(Page(command=()))
        self._look()
        for program in self.programs:
            program.changed, program.caught = self._changed, self._caught

    def _changed(self) -> None:
        self._look()
        self.changed()

    def _look(self) -> None:
        """Update the page and all rows. Without a change, `page` remains the same object."""
        pages = [self._one.page, *(program.page for program in self.programs)]
        if len(pages) != len(self._pages) or any(map(is_not, pages, self._pages)):
            self._pages, self.page = pages, self._with_all(pages[0])
        self.steps = self._one.steps

    def _caught(self, told: Caught) -> None:
        self.caught(told)

    @property
    def _one(self) -> ShownProgram:
        return self.programs[self.chosen]

    @property
    def now(self) -> Page:
        return self._with_all(self._one.now)

    def _with_all(self, page: Page) -> Page:
        if len(self.programs) == 1:
            return page
        said = slowest(self.rows)
        notes = (said, *page.notes) if said and said not in page.notes else page.notes
        return msgspec.structs.replace(page, processes=self.rows, notes=notes)

    @property
    def running(self) -> bool:
        return any(program.running for program in self.programs)

    @property
    def catches(self) -> bool:
        return self._one.catches

    @property
    def rows(self) -> tuple[ProcessRow, ...]:
        """The processes of all programs, and one row for each program that has no process."""
        return tuple(row for program in self.programs for row in _rows(program.page))

    def choose(self, index: int) -> None:
        for number, program in enumerate(self.programs):
            own = _rows(program.page)
            if index < len(own):
                self.chosen = number
                if program.rows:
                    program.choose(index)
                break
            index -= len(own)
        self._changed()

    @property
    def said(self) -> str:
        return programs_text(self.together)

    @property
    def together(self) -> Together:
        return join_pages([program.page for program in self.programs])

    def output(self, lines: int) -> list[str]:
        return self._one.output(lines)

    def resize(self, columns: int, rows: int) -> None:
        for program in self.programs:
            program.resize(columns, rows)

    def catch(self, number: int | None = None) -> str:
        return self._one.catch(number)

    def type(self, text: str) -> None:
        for program in self.programs:
            program.type(text)

    def signal(self, number: int) -> None:
        for program in self.programs:
            program.signal(number)


def _rows(page: Page) -> tuple[ProcessRow, ...]:
    command = next((word for word in page.command if word.endswith(".py")), " ".join(page.command))
    none = ProcessRow(pid=0, parent=0, command=command, steps=StepTimes())
    return tuple(
        msgspec.structs.replace(row, host=row.host or page.host) for row in page.processes or (none,)
    )


def join_pages(pages: Iterable[Page]) -> Together:
    found = tuple(pages)
    return Together(programs=found, slowest=slowest(row for page in found for row in _rows(page)))


def open_pages(words: Sequence[str]) -> Several:
    """Open saved pages from history ids or `--json` files. Raises InputError."""
    if not words:
        raise InputError("--open", "", "ids of `tuilab history programs`, or files written by --json")
    programs = list[ShownProgram]()
    for word in words:
        if not Path(word).is_file():
            try:
                programs.append(ShownProgram(load_page(word)))
            except InputError as error:
                expected = f"a file written by `tuilab watch --json`, or {error.expected}"
                raise InputError("--open", word, expected) from None
            continue
        try:
            found = msgspec.json.decode(read_regular(Path(word), LARGEST_PAGE))
            several = isinstance(found, dict) and "programs" in found
            pages = msgspec.convert(found, Together).programs if several else (msgspec.convert(found, Page),)
        except UNDECODED as error:
            raise InputError("--open", word, f"a file written by `tuilab watch --json`: {error}") from None
        programs += [ShownProgram(sanitize(page)) for page in pages]
    return Several(programs)


Live = FarProgram | Watching


def start_on_hosts(
    hosts: Sequence[str],
    command: Sequence[str],
    options: WatchOptions,
    size: tuple[int, int],
    lines: "Mapping[str, Lines]",
) -> dict[str, Live]:
    """Start the same program on each host, in a terminal of `size` (columns, rows). Returns the programs by
    host.

    lines: receives each program's output, by host. Raises InputError.
    """
    programs: dict[str, Live] = {
        host: Watching(command, options) if host == LOCAL else FarProgram(host, command, options)
        for host in dict.fromkeys(hosts)
    }
    for host, program in programs.items():
        program.wrote = lines[host].add
        program.start(size)
    return programs


def lines_of(hosts: Sequence[str], write: Callable[[bytes], None]) -> "dict[str, Lines]":
    """Return, for each host, an object that passes the program's output to `write`. With several hosts, each
    line of output starts with the host's name.
    """
    names = list(dict.fromkeys(hosts))
    return {host: Lines(f"{host}: ".encode() if len(names) > 1 else b"", write) for host in names}


def follow(programs: Mapping[str, Live], lines: "Mapping[str, Lines]") -> int:
    """Forward input and signals until all programs have ended. Call only from the main thread.

    Returns the first exit code that is not 0. A lost connection counts as exit code 1.
    """

    def signalled(number: int, frame: object) -> None:
        for program in programs.values():
            program.interrupt() if number == signal.SIGINT else program.signal(number)

    for number in PASSED:
        signal.signal(number, signalled)
    threading.Thread(target=_type_into, args=(list(programs.values()),), daemon=True).start()
    for host, program in programs.items():
        while not program.wait(WAIT_S):  # a wait without a timeout would block signals
            pass
        lines[host].end()
    codes = [1 if program.exit_code is None else program.exit_code for program in programs.values()]
    return next((code for code in codes if code), 0)


PASSED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
WAIT_S = 0.5


class Lines:
    """Adds a prefix to each line of a program's output."""

    def __init__(self, before: bytes, write: Callable[[bytes], None]) -> None:
        self._before, self._write, self._rest = before, write, b""

    def add(self, data: bytes) -> None:
        if not self._before:
            self._write(data)
            return
        *whole, self._rest = (self._rest + data).split(b"\n")
        if whole:
            self._write(
                b"".join(self._before + line.rstrip(b"\r").rpartition(b"\r")[2] + b"\n" for line in whole)
            )

    def end(self) -> None:
        """Write an unfinished last line."""
        if self._rest:
            self.add(b"\n")


def _type_into(programs: Sequence[Live]) -> None:
    """Forward this process's standard input, including its end, to each program."""
    while True:
        try:
            data = os.read(0, 4_096)
        except OSError:
            return
        for program in programs:
            program.type(data.decode(errors="replace") or "\x04")
        if not data:
            return


def serve(command: Sequence[str], options: WatchOptions, size: tuple[int, int], folder: str) -> int:
    """Watch a program for a lab on another machine. Writes messages to standard output, and reads requests
    from standard input.

    folder: working folder of the program, if it exists here. Returns when the program ends. If the connection
    to the lab is lost, the program gets SIGHUP.
    """
    with contextlib.suppress(OSError):
        os.chdir(folder)
    sys.stdout.flush()
    out = os.dup(1)
    os.dup2(2, 1)
    lock, shown = threading.Lock(), Page(command=())

    def tell(what: Said) -> None:
        with lock, contextlib.suppress(OSError, ValueError):
            write_all(out, msgspec.json.encode(what) + b"\n")

    def changed() -> None:
        nonlocal shown
        if watching.page is not shown:
            shown = watching.page
            tell(Shown(shown, watching.steps))

    watching = Watching(command, options)
    watching.program.program = ""  # the lab's own machine saves the page
    watching.wrote, watching.changed = lambda data: tell(Wrote(data)), changed
    watching.start(size)

    def listen() -> None:
        for line in sys.stdin.buffer:
            match ASKED.decode(line):
                case Type(data):
                    watching.type(data.decode(errors="replace"))
                case Signal(number):
                    watching.signal(number)
                case Resize(columns, rows):
                    watching.resize(columns, rows)
                case Choose(pid):
                    watching.program.chosen = pid
                    watching.draw()
        if watching.running:
            watching.signal(signal.SIGHUP)

    threading.Thread(target=listen, daemon=True).start()
    while not watching.wait(WAIT_S):
        pass
    changed()
    code = watching.program.exit_code
    tell(Over(code if code is not None else 1))
    return 0
