"""Shared fixtures, such as a real TensorFlow worker that starts once for all tests."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from queue import Empty, Queue
from typing import Any

import msgspec
import platformdirs
import pytest
from hypothesis import settings

from tests import data_folder
from tests.emulated_gpu import build
from tuilab.model import events, requests
from tuilab.model.events import Event
from tuilab.model.machine import Machine
from tuilab.model.run import RunState
from tuilab.observer.tuilab_observer.start import Finder

# This folder contains an installed package whose entry point is a workload, `probe`.
INSTALLED = Path(__file__).parent / "worker" / "installed"
START_S, ANSWER_S = 120.0, 120.0
TESTS = Path(__file__).parent
SLOW = (
    "attack",
    "browser",
    "cli",
    "doctor/test_causes",
    "doctor/test_deadline",
    "environments",
    "documents/test_time",
    "emulated_gpu",
    "faults",
    "fleet",
    "hostile/test_reports.py::test_commands_print",
    "hostile/test_screens",
    "hostile/test_terminal",
    "remote",
    "terminal",
    "tui/test_answer",
    "tui/test_demo",
    "tui/test_fact_check",
    "tui/test_history",
    "tui/test_hosts",
    "tui/test_open",
    "tui/test_pages",
    "tui/test_pictures.py::test_every_view",
    "tui/test_race",
    "tui/test_recorded",
    "tui/test_replay",
    "tui/test_soak",
    "tui/test_surface",
    "profile/test_recorded",
    "workloads/test_memory_figures",
)
"""Folders and files with slow tests, which start programs or have many cases or screens."""
TENSORFLOW = {"emulated_gpu", "gpu_worker", "newcomer", "tf", "worker"}
"""Fixtures that start TensorFlow; `newcomer` (tests/journeys) also installs the wheel."""

# Screens and texts with a time must not depend on the local time zone.
os.environ["TZ"] = "UTC"
time.tzset()

# Without this, programs that tests start would compile TensorFlow and Textual each time, which takes 7 s
# of CPU time instead of 3 s. If the environment forbids bytecode next to the sources, it goes to the user's
# cache.
if sys.dont_write_bytecode:
    sys.dont_write_bytecode = False
    sys.pycache_prefix = str(platformdirs.user_cache_path("tuilab") / "pycache")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix

# Users do not set this variable, which hides errors when output cannot be written.
os.environ.pop("PYTHONUNBUFFERED", None)

# No deadline, because a busy machine exceeds any time limit. The examples are always the same, so that only
# a code change can make a test fail; `--hypothesis-profile=exploring` tries new examples.
settings.register_profile("same", deadline=None, derandomize=True)
settings.register_profile("exploring", deadline=None, max_examples=1_000)
settings.load_profile("same")


@pytest.fixture(scope="session", autouse=True)
def state_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Give each test process its own preferences and data folder. All processes of a session share the
    measured roofs (hardware limits).
    """
    session = tmp_path_factory.getbasetemp()
    session = session.parent if "PYTEST_XDIST_WORKER" in os.environ else session
    (session / "machines").mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        patch.setenv(data_folder.MACHINES, str(session / "machines"))
        data = tmp_path_factory.mktemp("data")
        patch.setenv("XDG_DATA_HOME", str(data))
        data_folder.knowing(data / "tuilab")
        if sys.platform == "linux" and not any(name.startswith("COVERAGE_PROCESS") for name in os.environ):
            fork_workers(patch, session / "forked")
        yield


def fork_workers(patch: pytest.MonkeyPatch, folder: Path) -> None:
    """Fork workers from a process that has imported TensorFlow (tests/forked), until the session ends."""
    folder.mkdir(exist_ok=True)
    patch.setenv("TUILAB_TESTS_FORKED", str(folder))
    patch.setenv(
        "TUILAB_TESTS_OWNER", str(os.getppid() if "PYTEST_XDIST_WORKER" in os.environ else os.getpid())
    )
    patch.setenv("PYTHONPATH", str(TESTS / "forked"), prepend=os.pathsep)


@pytest.fixture(scope="session", autouse=True)
def signals_as_in_a_terminal() -> None:
    """Make programs that tests start obey INT and HUP, even if the tests run in the background or under
    nohup.

    Child processes inherit ignored signals, but not handled ones.
    """
    for number in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


@pytest.fixture(scope="session", autouse=True)
def no_compiled_leavings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    yield
    if sys.pycache_prefix:
        shutil.rmtree(sys.pycache_prefix + str(tmp_path_factory.getbasetemp()), ignore_errors=True)
        for file in Path(sys.pycache_prefix + tempfile.gettempdir()).glob("__autograph_generated_file*"):
            file.unlink(missing_ok=True)


class Worker:
    """A worker process that the tests control with JSON lines. Its methods block.

    cpus: number of logical CPUs that stand for devices. environment: additional environment variables.
    """

    machine: Machine

    def __init__(self, cpus: int = 2, environment: Mapping[str, str] | None = None) -> None:
        more = dict(environment or {})
        paths = [str(INSTALLED), more.pop("PYTHONPATH", ""), os.environ.get("PYTHONPATH", "")]
        environment = {
            **os.environ,
            "TUILAB_LOGICAL_CPUS": str(cpus),
            "TF_CPP_MIN_LOG_LEVEL": "3",
            "PYTHONPATH": os.pathsep.join(path for path in paths if path),
            **more,
        }
        self._environment = environment
        self._scope = ""
        self._beside: tuple[subprocess.Popen[bytes], Queue[bytes]] | None = None
        self.stray: list[Event] = []
        self._start({})

    def _start(self, more: Mapping[str, str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tuilab.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**self._environment, **more},
            start_new_session=True,
        )
        self._lines: Queue[bytes] = Queue()
        threading.Thread(target=self._read, args=(self.process, self._lines), daemon=True).start()
        while not isinstance(event := self.next(START_S), events.Ready):
            pass
        self.machine = event.machine

    @staticmethod
    def _read(process: "subprocess.Popen[bytes]", lines: "Queue[bytes]") -> None:
        assert process.stdout is not None
        for line in process.stdout:
            lines.put(line)
        lines.put(b"")

    def _confine(self, scope: str) -> None:
        if self._scope:
            self.close()
            assert self._beside is not None
            self.process, self._lines = self._beside
        self._scope = scope
        if scope:
            self._beside = self.process, self._lines
            forked = os.environ.get("TUILAB_TESTS_FORKED", "")
            self._start({requests.CONFINE: scope, "TUILAB_TESTS_FORKED": forked})

    def send(self, request: requests.Request) -> None:
        """Send a request to a process with the confinement that the request requires."""
        scope = requests.confined_to(request)
        plain = isinstance(request, requests.Declare | requests.Measure)
        if scope != self._scope and (scope or plain):
            self._confine(scope)
        assert self.process.stdin is not None
        self.process.stdin.write(requests.encode(request))
        self.process.stdin.flush()

    def next(self, timeout: float = ANSWER_S, *, patient: bool = False) -> Event:
        """Return the next event.

        If the worker has ended or sends no event within `timeout` seconds, fails the test. patient: True to
        raise TimeoutError after the timeout instead.
        """
        try:
            line = self._lines.get(timeout=timeout)
        except Empty:
            if patient:
                raise TimeoutError from None
            pytest.fail(f"the worker said nothing for {timeout} s")
        if not line:
            pytest.fail(f"the worker ended with {self.process.wait(10)}")
        return events.decode(line)

    def measure(
        self, request: requests.Measure, watch: Callable[[Event], object] = lambda event: None
    ) -> list[Event]:
        """Run a request to its end and return its events. watch: called with each event; may send
        requests.
        """
        self.send(request)
        seen: list[Event] = []
        while True:
            event = self.next()
            if getattr(event, "run", "") != request.id:
                self.stray.append(event)
                continue
            seen.append(event)
            watch(event)
            if isinstance(event, events.Finished):
                return seen

    def ask(self, kind: str, body: msgspec.Struct | dict[str, object] | None = None) -> list[events.Answer]:
        identity = uuid.uuid4().hex
        raw = msgspec.Raw(msgspec.json.encode(body if body is not None else {}))
        self.send(requests.Ask(id=identity, kind=kind, body=raw))
        answers: list[events.Answer] = []
        while True:
            event = self.next()
            if isinstance(event, events.Refused) and event.request == identity:
                pytest.fail(f"the worker refused {kind}: {event.message}\n{event.detail}")
            if isinstance(event, events.Answer) and event.request == identity:
                answers.append(event)
                if not event.more:
                    return answers

    def end(self) -> None:
        self._confine("")
        self.close()

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(10)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--tier`, which selects tests by cost, and `--long`, which adds tests marked `long`."""
    parser.addoption(
        "--tier",
        choices=("quick", "rest", "all"),
        help="quick: what is not slow, all of worker/measure, and the tests marked smoke; rest: the others. "
        "Default: quick; all if files or folders are named",
    )
    parser.addoption("--long", action="store_true", help="run the long modes of suites too")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests that are slow or start TensorFlow. Deselect other tiers and long tests.

    With `--snapshot-update`, also deselect tests without snapshots.
    """
    for item in items:
        slow = item.nodeid.removeprefix("tests/").startswith(SLOW) or item.get_closest_marker("real_worker")
        if slow or not TENSORFLOW.isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.slow)
    named = config.args_source == pytest.Config.ArgsSource.ARGS
    tier = config.getoption("--tier") or ("all" if named or config.getoption("-m") else "quick")
    left: list[pytest.Item] = []
    kept: list[pytest.Item] = []
    for item in items:
        long = item.get_closest_marker("long") and not config.getoption("--long")
        wanted = not long and (tier == "all" or quick(item) == (tier == "quick"))
        if config.getoption("update_snapshots"):
            wanted = wanted and "snapshot" in getattr(item, "fixturenames", ())
        (kept if wanted else left).append(item)
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = kept


def quick(item: pytest.Item) -> bool:
    """Return True if the README's test command runs the test."""
    always = item.get_closest_marker("smoke") or item.nodeid.startswith("tests/worker/measure/")
    return bool(always) or not item.get_closest_marker("slow")


def fold(seen: list[Event]) -> RunState:
    state = RunState()
    for event in seen:
        state.apply(event)
    return state


def give_two_cpus(tensorflow: Any) -> None:
    """Give TensorFlow two logical CPUs when it is imported, so that an op can run on a device other than the
    host.

    The setting must be made at the import, because the first op in this process initializes the devices.
    """
    cpu = tensorflow.config.list_physical_devices("CPU")[0]
    parts = [tensorflow.config.LogicalDeviceConfiguration() for _ in range(2)]
    tensorflow.config.set_logical_device_configuration(cpu, parts)


sys.meta_path.insert(0, Finder("tensorflow", give_two_cpus))


@pytest.fixture(scope="session")
def tf() -> Any:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow

    return tensorflow


@pytest.fixture(scope="session")
def worker() -> Iterator[Worker]:
    """Yield the shared worker, which starts without a fork.

    A test must wait for the end of its requests, because the next test needs an idle worker.
    """
    worker = Worker(environment={"TUILAB_TESTS_FORKED": ""})
    yield worker
    worker.end()


@pytest.fixture(scope="session")
def emulated_gpu() -> Callable[..., dict[str, str]]:
    """Return a function that returns the environment variables for emulated GPUs (`build.environment`).

    Skips the test if emulated GPUs are unavailable.
    """
    try:
        build.environment()
    except build.Missing as error:
        pytest.skip(f"no emulated GPU: {error}")
    return build.environment


@pytest.fixture(scope="session")
def gpu_worker(emulated_gpu: Callable[..., dict[str, str]]) -> Iterator[Worker]:
    """Yield a worker with one emulated GPU, shared like `worker`."""
    worker = Worker(cpus=1, environment=emulated_gpu())
    yield worker
    worker.end()
