import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import time
import uuid
from pathlib import Path

import msgspec
import psutil
import pytest

from tests.attack.hostile_models import Made
from tests.attack.test_strangers import opened
from tests.calling import TUILAB, begun, environment
from tests.conftest import Worker
from tests.runner.test_zygotes import Rig
from tests.runner.test_zygotes import request as run_of
from tuilab import landlock
from tuilab.doctor import sandbox
from tuilab.doctor.libcuda import Libcuda
from tuilab.doctor.sandbox import Sandbox
from tuilab.model import requests
from tuilab.model.events import Finished, Refused, RunStarted
from tuilab.model.scenario import Opening, Scenario

pytestmark = [pytest.mark.real_worker, pytest.mark.slow]
confining = pytest.mark.skipif(landlock.version() < 6, reason="needs Landlock with TCP and signals")

PROBE = """
import os, socket, subprocess, sys, tempfile, threading

PORT, OUTSIDE, HOME, PARENT = {port}, {outside!r}, {home!r}, {parent}

def tries():
    def write(path):
        with open(path, "w") as file:
            file.write("x")
    def unix():
        with socket.socket(socket.AF_UNIX) as client:
            client.connect("\\0" + "tuilab-test-" + str(PORT))
    attempts = {{
        "connect": lambda: socket.create_connection(("127.0.0.1", PORT), 5).close(),
        "listen": lambda: socket.create_server(("127.0.0.1", 0)).close(),
        "abstract": unix,
        "write": lambda: write(OUTSIDE + "/written"),
        "make": lambda: os.mkdir(OUTSIDE + "/made"),
        "link": lambda: os.link(HOME + "/secret", OUTSIDE + "/linked"),
        "read": lambda: open(HOME + "/secret").read(),
        "list": lambda: os.listdir(HOME),
        "truncate": lambda: os.truncate(HOME + "/secret", 0),
        "remove": lambda: os.unlink(HOME + "/secret"),
        "users": lambda: open("/etc/passwd").read(),
        "environ": lambda: open("/proc/%d/environ" % PARENT).read(),
        "signal": lambda: os.kill(PARENT, 0),
        "scratch": lambda: tempfile.NamedTemporaryFile().close(),
        "null": lambda: write("/dev/null"),
    }}
    done = []
    for name, attempt in attempts.items():
        try:
            attempt()
            done.append(name)
        except OSError:
            pass
    return done

done = {{"itself": tries()}}
thread = threading.Thread(target=lambda: done.update(thread=tries()))
thread.start()
thread.join()
if __name__ != "__main__":
    child = subprocess.run([sys.executable, "-I", "-S", "-c", open(__file__).read()], capture_output=True, text=True)
    done["child"] = child.stdout.split()
    read, write = os.pipe()
    if not (pid := os.fork()):
        os.write(write, " ".join(tries()).encode())
        os._exit(0)
    os.waitpid(pid, 0)
    done["forked"] = os.read(read, 10_000).decode().split()
    more = sorted(who + " " + what for who, those in done.items() for what in those)
    escaped = [each for each in more if each.split()[1] not in ("scratch", "null")]
    if {always} or escaped:
        raise RuntimeError("done: " + ", ".join(more))
else:
    print(*done["itself"])
"""
"""Code that tries what a malicious model might try, in its own process, a thread, a child and a fork."""
ALLOWED = [f"{who} {what}" for who in ("child", "forked", "itself", "thread") for what in ("null", "scratch")]


@pytest.fixture
def tried(tf, tmp_path):
    outside, home, models = (tmp_path / name for name in ("outside", "home", "models"))
    for each in (outside, home, models, tmp_path / "code"):
        each.mkdir()
    (home / "secret").write_text("a secret")
    model = Made(models, outside, home / "secret", 0).packed("good")
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket(socket.AF_UNIX) as unix,
    ):
        port = server.getsockname()[1]
        unix.bind(f"\0tuilab-test-{port}")
        unix.listen()
        code = tmp_path / "code" / "probe.py"

        def opening(always: bool = True, trust: bool = False) -> Opening:
            words = {"port": port, "outside": str(outside), "home": str(home), "parent": os.getpid()}
            code.write_text(PROBE.format(always=always, **words))
            return Opening(trust, str(code))

        yield model, opening
        server.settimeout(0.1)
        with pytest.raises(TimeoutError):
            server.accept()
    assert os.listdir(outside) == [] and (home / "secret").read_text() == "a secret"


def asked(worker: Worker, model: Path, opening: Opening) -> str:
    """Return the reason why a worker rejects this model. The worker starts before it knows the model, as
    over ssh.
    """
    request = requests.Declare(id=uuid.uuid4().hex, file=str(model), opening=opening)
    worker.process.stdin.write(requests.encode(request))
    worker.process.stdin.flush()
    while not isinstance(event := worker.next(), Refused):
        pass
    return event.message


def done(said: str) -> list[str]:
    assert "done: " in said, said
    return said.partition("done: ")[2].split(", ")


@confining
@pytest.mark.parametrize("told", [False, True], ids=["warm", "fresh"])
def test_worker_and_all_that_it_starts_only_use_their_scratch_folder(tried, told):
    """A warm worker starts unconfined, without a model, and later replaces itself; a fresh worker is confined
    from its start.
    """
    model, opening = tried
    scope = requests.scope(str(model), opening()) if told else ""
    own = Worker(environment={"TUILAB_TESTS_FORKED": "", requests.CONFINE: scope})
    try:
        assert done(asked(own, model, opening())) == ALLOWED
        assert done(asked(own, model, opening())) == ALLOWED, "it stays confined"
    finally:
        own.end()


@confining
def test_a_command_opens_a_model_with_its_first_worker(tf, tmp_path):
    """The first worker is confined from its start. Replacing an unconfined worker would take 0.2 s longer."""
    model = Made(tmp_path, tmp_path, tmp_path, 0).packed("good")
    workers: set[int] = set()
    command = begun(tmp_path, "explain", str(model))
    while command.poll() is None:
        with contextlib.suppress(psutil.Error):
            children = psutil.Process(command.pid).children(recursive=True)
            workers |= {child.pid for child in children if "tuilab.worker" in child.cmdline()}
        time.sleep(0.005)
    assert command.returncode == 0, command.communicate()
    assert len(workers) == 1


@confining
def test_a_forked_worker_is_confined(worker, tried):
    model, opening = tried
    assert done(opened(worker, model, opening())) == ALLOWED


def test_an_unconfined_probe_succeeds(tmp_path):
    for name in ("outside", "home"):
        (tmp_path / name).mkdir()
    (tmp_path / "home" / "secret").write_text("a secret")
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as unix:
        port = server.getsockname()[1]
        unix.bind(f"\0tuilab-test-{port}")
        unix.listen()
        words = {"port": port, "outside": str(tmp_path / "outside"), "home": str(tmp_path / "home")}
        probe = PROBE.format(always=True, parent=os.getpid(), **words)
        told = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    every = re.findall(r'^        "(\w+)": ', PROBE, re.MULTILINE)
    assert len(every) == 15 and sorted(told.stdout.split()) == sorted(every)


@confining
async def test_processes_forked_for_a_run_are_confined_too(monkeypatch, tried):
    """In each forked process, the probe raises an error if it can use more than the scratch folder."""
    model, opening = tried
    rig = Rig(monkeypatch, 0)
    await rig.lab.start()
    scenario = Scenario("good", {"batch": 4, "dtype": "float32"}, str(model), opening(always=False))
    await rig.lab.measure(msgspec.structs.replace(run_of(precision=1e-9), scenario=scenario))
    await rig.until(lambda: rig.of(Finished))
    await rig.close()
    assert [event.status for event in rig.of(Finished)] == ["ok"], rig.of(Finished)
    assert {event.zygote for event in rig.of(RunStarted)} > {None}


THREADS = """
import os, sys, threading
from tuilab.worker import confinement

confinement._GPUS = (sys.argv[1],)
confinement.confine_if_asked()

def tries():
    own, parent = f"/proc/self/task/{threading.get_native_id()}", os.getppid()
    attempts = {
        "thread": f"{own}/comm",
        "parent": f"/proc/{parent}/comm",
        "its thread": f"/proc/{parent}/task/{parent}/comm",
        "process": "/proc/self/comm",
        "score": "/proc/self/oom_score_adj",
        "settings": "/proc/sys/kernel/core_pattern",
        "file": sys.argv[2],
    }
    done = []
    for name, path in attempts.items():
        try:
            os.close(os.open(path, os.O_WRONLY))
            done.append(name)
        except OSError:
            pass
    try:
        with open(f"{own}/oom_score_adj", "w") as file:
            file.write("-1000")
        done.append("immortal")
    except OSError:
        pass
    return done

def all_tries():
    print(*tries(), flush=True)
    thread = threading.Thread(target=lambda: print(*tries(), flush=True))
    thread.start()
    thread.join()

all_tries()
if len(sys.argv) == 3:  # replace this process, as a worker does that opens another GPU
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:], "replaced"])
sys.stdin.readline()
all_tries()
if not os.fork():
    print("forked", *tries(), flush=True)
    os._exit(0)
os.wait()
"""
"""Code that confines its process and prints the files that it can open for writing. Its argument is the
pattern of GPU files.
"""


@pytest.mark.skipif(landlock.version() < 3, reason="needs Landlock that restricts truncating")
@pytest.mark.parametrize("gpu", [False, True], ids=["no-gpu", "gpu"])
def test_with_a_gpu_a_confined_process_names_its_own_threads_only(tmp_path, gpu):
    """The kernel may drop unused /proc entries from its caches at any time, so the test drops them on
    purpose.
    """
    outside, device = tmp_path / "outside", tmp_path / "nvidia0"
    outside.touch()
    if gpu:
        device.touch()
    settings = {**environment(tmp_path / "data"), requests.CONFINE: json.dumps(["", "", ""])}
    command = [sys.executable, "-c", THREADS, f"{tmp_path}/nvidia*", str(outside)]
    confined = subprocess.Popen(
        command, env=settings, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    lines = [confined.stdout.readline() for _ in range(4)]
    with contextlib.suppress(OSError):  # only root may drop caches
        Path("/proc/sys/vm/drop_caches").write_text("2")
    rest, _ = confined.communicate("\n", timeout=60)
    lines += rest.splitlines(keepends=True)
    own, forked = ("thread\n", "forked its thread\n") if gpu else ("\n", "forked\n")
    assert (confined.returncode, lines) == (0, [*[own] * 6, forked])


WITHOUT = """
import ctypes, struct, sys, os

# seccomp: the system call that makes a ruleset of Landlock fails as in a kernel that has none (ENOSYS).
rules = [(0x20, 0, 0, 0), (0x15, 0, 1, 444), (0x06, 0, 0, 0x00050000 | 38), (0x06, 0, 0, 0x7FFF0000)]
program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *rule) for rule in rules))

class Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("rules", ctypes.c_void_p)]

libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(Filter(len(rules), ctypes.addressof(program))), 0, 0) == 0
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.mark.skipif(os.uname().machine not in ("x86_64", "aarch64"), reason="other system calls")
def test_without_landlock_the_doctor_says_so_and_the_list_of_ops_decides(tf, tmp_path):
    models, outside = tmp_path / "models", tmp_path / "outside"
    models.mkdir()
    outside.mkdir()
    made = Made(models, outside, tmp_path / "secret", 0)
    made.saved("good", lambda x: {"y": x * 2})
    made.saved("writes", made.writes)

    def run_without(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", WITHOUT, *words]
        # Workers must not fork from a shared server, which would lack Landlock for the rest of the session.
        where = {"env": environment(tmp_path / "data", TUILAB_TESTS_FORKED=""), "cwd": tmp_path}
        return subprocess.run(command, capture_output=True, text=True, timeout=200, **where)

    assert (
        run_without(sys.executable, "-c", "from tuilab import landlock; print(landlock.version())").stdout
        == "0\n"
    )
    doctor = " ".join(run_without(*TUILAB, "doctor").stdout.split())
    assert "this kernel has no Landlock" in doctor, doctor
    assert sandbox.probe(Sandbox(), Libcuda()).detail.partition(" (")[0] in doctor
    assert "Without Landlock" in (Path(__file__).parents[2] / "SECURITY.md").read_text()
    assert run_without(*TUILAB, "explain", str(models / "good")).returncode == 0
    refused = run_without(*TUILAB, "explain", str(models / "writes"))
    assert refused.returncode == 2 and "WriteFile" in refused.stderr and "--trust" in refused.stderr
    assert os.listdir(outside) == []
