"""Starts a user's program with the observer on its Python path, and receives the observer's messages.

The program shares this process's standard streams, terminal, folder and process group. Each of its processes
that imports TensorFlow connects to this process's Unix socket.
"""

import contextlib
import fcntl
import os
import queue
import resource
import select
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import tty
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tuilab import guest, observer
from tuilab.model.errors import UNDECODED, InputError
from tuilab.model.files import write_bytes
from tuilab.model.program import Told, Window
from tuilab.model.sanitize import sanitize, sanitize_error, sanitize_line
from tuilab.processes import write_all

LONGEST_MESSAGE, LONGEST_FILE = 64 * 2**20, 512 * 2**20
ATTACH_S = 60.0
"""Maximum seconds for the import of TensorFlow and the program's answer."""
SI_KERNEL = 0x80
"""`si_code` of a signal from the kernel. Such a signal comes from the terminal, which also sends it to the
program.
"""

Take = Callable[[int, Told, Path | None], None]
"""Called from a thread with a process's number, its message, and the file of a profiler window, if any."""
LONGEST_FOLDER = 74
"""Maximum length of the temporary folder's name in bytes: a socket's path may have at most 103 bytes."""
REST_S = 0.25
KEPT_OUTPUT = 2**20
"""Maximum number of bytes of a program's latest output that are kept while a screen uses the terminal."""


def _started(run: Callable[..., None], *arguments: object) -> threading.Thread:
    """Start a daemon thread that receives no signals: the main thread has to forward them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        thread = threading.Thread(target=run, args=arguments, daemon=True)
        thread.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return thread


class Listener:
    """Receives the observers' messages. An invalid message ends its connection; `faults` holds the reason.

    take: called from one thread with each message. rest: called from that thread at least every `REST_S`
    seconds. An observer gives up if its messages are not read, so the listener reads them at once, even while
    `take` runs.
    """

    def __init__(self, take: Take, rest: Callable[[], None] = lambda: None) -> None:
        long = len(os.fsencode(tempfile.gettempdir())) > LONGEST_FOLDER
        self.folder = Path(tempfile.mkdtemp(prefix="tuilab-watch-", dir="/tmp" if long else None))
        self.address = self.folder / "socket"
        self.faults: list[str] = []
        self._take, self._rest, self._number = take, rest, 0
        self._threads = list[threading.Thread]()
        self._connections = dict[int, socket.socket]()
        self._told = queue.SimpleQueue[tuple[int, Told, Path | None] | None]()
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(os.fspath(self.address))
        self._socket.listen(64)
        self._accepting = self._begin(self._accept)
        self._taking = _started(self._take_on)
        # This shell removes the folder even if the lab is killed: its standard input closes when the lab
        # ends, so `read` returns.
        words = ["/bin/sh", "-c", 'read -r _; rm -rf "$0"', os.fspath(self.folder)]
        nowhere = subprocess.DEVNULL
        self._keeper = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=nowhere, stderr=nowhere, cwd="/", start_new_session=True
        )

    def close(self, patience: float = 1.0) -> None:
        """Process the messages that were already sent, then stop listening."""
        with contextlib.suppress(OSError):
            self.address.unlink()
            self._socket.shutdown(socket.SHUT_RDWR)
        self._accepting.join(patience)  # the thread first accepts the pending connections
        self._socket.close()
        for thread in list(self._threads):
            thread.join(patience)
        self._told.put(None)
        self._taking.join()

    def ask(self, number: int, **what: object) -> bool:
        """Send a request to the observer in a process. Return False if the observer no longer listens."""
        try:
            self._connections[number].sendall(msgspec.json.encode(what) + b"\n")
        except (OSError, KeyError):
            return False
        return True

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        self._keeper.communicate()

    def _take_on(self) -> None:
        while True:
            with contextlib.suppress(queue.Empty):
                told = self._told.get(timeout=REST_S)
                if told is None:
                    return
                try:
                    self._take(*told)
                except Exception as error:  # a faulty message must not stop the following messages
                    self.faults.append(f"a message could not be processed: {sanitize_error(error)}")
            self._rest()

    def _begin(self, run: Callable[..., None], *arguments: object) -> threading.Thread:
        thread = _started(run, *arguments)
        self._threads.append(thread)
        return thread

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self._number += 1
            self._connections[self._number] = connection
            self._begin(self._hear, self._number, connection)

    def _hear(self, number: int, connection: socket.socket) -> None:
        decoder = msgspec.json.Decoder(Told)
        with connection, connection.makefile("rb") as stream:
            while len(head := stream.read(8)) == 8:
                length, more = int.from_bytes(head[:4], "big"), int.from_bytes(head[4:], "big")
                if length > LONGEST_MESSAGE or more > LONGEST_FILE:
                    self.faults.append(f"a message of {length + more} bytes was rejected")
                    return
                body, raw = stream.read(length), stream.read(more)
                if len(body) < length or len(raw) < more:
                    return
                try:
                    text = sanitize(decoder.decode(body))
                except UNDECODED as error:
                    self.faults.append(f"a message is invalid: {error}")
                    continue
                file = None
                if isinstance(text, Window) and raw:
                    file = self.folder / f"{number}-{text.start:.3f}.xplane.pb"
                    try:
                        write_bytes(file, raw)
                    except OSError as error:
                        self.faults.append(f"a profiler window could not be saved: {error.strerror}")
                        file = None
                self._told.put((number, text, file))


def command_of(words: Sequence[str]) -> list[str]:
    """Return the command to start. A Python file or `-m module` runs in the active environment's Python.

    Raises InputError without a command, and for a Python file that does not exist.
    """
    if not words:
        raise InputError("watch", "", "a program to start: train.py, -m module, or -- command")
    if words[0].endswith(".ipynb"):
        convert = f"jupyter nbconvert --to script {shlex.quote(words[0])}"
        raise InputError("watch", words[0], f"a program, not a notebook; convert it with: {convert}")
    if words[0].endswith(".py") and not os.path.exists(words[0]):
        raise InputError("watch", words[0], "an existing Python file")
    return [python(), *words] if is_python(words) else list(words)


def is_python(words: Sequence[str]) -> bool:
    return bool(words) and (words[0] == "-m" or words[0].endswith(".py"))


def python() -> str:
    """Return the path of the active environment's Python, or else of the Python that runs tuilab."""
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        found = Path(os.environ.get(name, ""), "bin", "python")
        if os.environ.get(name) and found.exists():
            return os.fspath(found)
    return sys.executable


def _spawn(command: Sequence[str], listener: Listener, options: str, **how: Any) -> int:
    """Start a program with the observer on its Python path, and return its process id.

    how: arguments for `os.posix_spawnp`. Raises InputError for a program that cannot be started.
    """
    environment = dict(os.environ)
    environment[observer.ADDRESS], environment[observer.OPTIONS] = os.fspath(listener.address), options
    paths = [os.fspath(observer.FOLDER), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    try:
        return os.posix_spawnp(command[0], list(command), environment, **how)
    except OSError as error:
        raise InputError("watch", command[0], f"an executable program: {error.strerror}") from None


class Hosted:
    """Runs a program in its own terminal while a screen uses this process's terminal. `output` holds the
    program's latest output.

    heard: called from a thread with the program's output. ended: called from a thread with the program's exit
    code, negative for a signal. Raises InputError for a program that cannot be started.
    """

    def __init__(
        self,
        command: Sequence[str],
        listener: Listener,
        options: str = "",
        *,
        size: tuple[int, int] = (80, 24),
        heard: Callable[[bytes], None] = lambda data: None,
        ended: Callable[[int], None] = lambda code: None,
    ) -> None:
        self.output, self.written = bytearray(), 0
        self._lock, self._show = threading.Lock(), False
        self._heard, self._ended = heard, ended
        self._terminal, slave = os.openpty()
        self.resize(*size)
        name = os.ttyname(slave)
        try:
            # A session leader's controlling terminal is the first terminal that it opens.
            self.pid = _spawn(
                command,
                listener,
                options,
                file_actions=[
                    (os.POSIX_SPAWN_OPEN, 0, name, os.O_RDWR, 0),
                    (os.POSIX_SPAWN_DUP2, 0, 1),
                    (os.POSIX_SPAWN_DUP2, 0, 2),
                ],
                setsid=True,
                setsigdef=[signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT],
            )
        except InputError:
            os.close(self._terminal)
            raise
        finally:
            os.close(slave)
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()
        self._waiting = threading.Thread(target=self._wait, daemon=True)
        self._waiting.start()

    def resize(self, columns: int, rows: int) -> None:
        with contextlib.suppress(OSError):
            fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, data: bytes) -> None:
        """Type bytes into the program's terminal. Ctrl-C is byte 3."""
        with contextlib.suppress(OSError):  # the program's terminal may be gone
            os.write(self._terminal, data)

    def signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._terminal, 65536)
            except OSError:  # the terminal has been closed
                data = b""
            if not data:
                return
            with self._lock:
                self.written += len(data)
                self.output += data
                del self.output[:-KEPT_OUTPUT]
                if self._show:
                    _write(data)
            self._heard(data)

    def _wait(self) -> None:
        _, status = os.waitpid(self.pid, 0)
        # Read the program's last output; its children may hold the terminal for longer.
        self._reading.join(1.0)
        self._ended(os.waitstatus_to_exitcode(status))

    def hand_over(self) -> None:
        """Write the program's stored output to this process's terminal, then connect both terminals until the
        program ends.
        """
        with self._lock:
            if left := self.written - len(self.output):
                _write(f"[the first {left:,} bytes of the output were dropped]\r\n".encode())
            _write(bytes(self.output))
            self._show = True
        if not self._waiting.is_alive():
            return

        def interrupted(number: int, frame: object) -> None:
            keys = {signal.SIGINT: b"\x03", signal.SIGQUIT: b"\x1c"}
            self.type(keys[signal.Signals(number)]) if number in keys else self.signal(number)

        def resized(number: int = 0, frame: object = None) -> None:
            with contextlib.suppress(OSError):
                self.resize(*os.get_terminal_size(0))

        for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2):
            signal.signal(number, interrupted)
        signal.signal(signal.SIGWINCH, resized)
        resized()
        before = termios.tcgetattr(0) if os.isatty(0) else None
        if before is not None:
            # The program's own terminal does the line editing. This process's terminal interprets only the
            # signal keys, so that Ctrl-Z works.
            tty.setraw(0, termios.TCSANOW)
            mode = termios.tcgetattr(0)
            mode[3] |= termios.ISIG
            termios.tcsetattr(0, termios.TCSANOW, mode)
        try:
            while self._waiting.is_alive():
                if before is None:
                    self._waiting.join()
                elif select.select([0], [], [], 0.1)[0]:
                    data = os.read(0, 1024)
                    self.type(data)
                    before = before if data else None
        finally:
            if before is not None:
                termios.tcsetattr(0, termios.TCSANOW, before)


def _write(data: bytes) -> None:
    with contextlib.suppress(OSError):
        write_all(1, data)


def run(command: Sequence[str], listener: Listener, options: str = "") -> int:
    """Start the program, forward signals and wait. Return the program's exit code, negative for a signal.

    Must be called from the main thread. Signals from the terminal's keys, such as Ctrl-C, reach the program
    directly. Raises InputError for a program that cannot be started.
    """
    passed = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, passed | {signal.SIGCHLD, signal.SIGCONT})
    try:
        defaults = [signal.SIGPIPE, signal.SIGXFSZ]
        pid = _spawn(command, listener, options, setsigmask=before, setsigdef=defaults)
        states, waiting = queue.SimpleQueue[int](), threading.get_ident()
        _started(_wait, pid, states, waiting)
        while True:
            # Use no timeout, because after a long stop, `sigtimedwait` with a timeout returns a signal that
            # was never sent.
            told = signal.sigwaitinfo(passed | {signal.SIGCHLD, signal.SIGCONT})
            while not states.empty():
                if not os.WIFSTOPPED(status := states.get()):
                    return os.waitstatus_to_exitcode(status)
                if os.WSTOPSIG(status) == signal.SIGSTOP:
                    os.kill(os.getpid(), signal.SIGSTOP)
            mine = told.si_signo == signal.SIGCHLD or told.si_code == SI_KERNEL
            if told.si_signo == signal.SIGCONT or not mine:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, told.si_signo)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _wait(pid: int, states: "queue.SimpleQueue[int]", thread: int) -> None:
    """Send SIGCHLD to a thread whenever a child stops or ends.

    The kernel may deliver its own SIGCHLD to a thread that does not wait for the signal.
    """
    while True:
        _, status = os.waitpid(pid, os.WUNTRACED)
        states.put(status)
        signal.pthread_kill(thread, signal.SIGCHLD)
        if not os.WIFSTOPPED(status):
            return


def end_as(code: int) -> int:
    """End this process with the signal that ended the program, or else return the program's exit code."""
    if code < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(-code, signal.SIG_DFL) if -code not in (signal.SIGKILL, signal.SIGSTOP) else None
        os.kill(os.getpid(), -code)
    return code


def attach(address: str, folder: Path, seconds: float) -> bytes:
    """Return a profile from the program's profiler server at HOST:PORT, with TensorFlow's client.

    Raises InputError if no program answers at that address.
    """
    command = guest.command("tuilab.worker.attach", address, os.fspath(folder), str(round(1_000 * seconds)))
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=seconds + ATTACH_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise InputError(
            "--attach", address, f"a profiler server that answers within {ATTACH_S:.0f} s"
        ) from None
    files = sorted(folder.rglob("*.xplane.pb"))
    if done.returncode or not files:
        said = [sanitize_line(line, 300) for line in done.stderr.splitlines() if "Error" in line][-1:]
        raise InputError("--attach", address, f"a program that runs TensorFlow's profiler server: {said}")
    return files[-1].read_bytes()
