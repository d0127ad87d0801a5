"""A watched program runs as if it were not watched: output, exit code, input, signals and tracebacks are the
same, and no file or process is left behind.
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tests.calling import TUILAB, begun, environment
from tests.calling import run as tuilab
from tuilab.runner.watched import Listener, run

PLAIN = """
import sys
print("out", input())
print("err", file=sys.stderr)
sys.exit(3)
"""


def both(
    tmp_path: Path, text: str, *words: str, given: str = ""
) -> tuple[subprocess.CompletedProcess[str], ...]:
    file = tmp_path / "train.py"
    file.write_text(text)
    settings = {**environment(tmp_path), "TF_CPP_MIN_LOG_LEVEL": "3", "TMPDIR": str(tmp_path)}
    alone = [sys.executable, str(file), *words]
    watched = [*TUILAB, "watch", "--plain", "-o", str(tmp_path / "page.txt"), "--", *alone]
    return tuple(
        subprocess.run(command, input=given, capture_output=True, text=True, env=settings, timeout=120)
        for command in (alone, watched)
    )


def started(tmp_path: Path, text: str, *words: str, **how: int) -> "subprocess.Popen[str]":
    """Watch a program, and wait until it prints `ready`."""
    file = tmp_path / "train.py"
    file.write_text(text)
    page = ("-o", str(tmp_path / "page.txt"))
    process = begun(tmp_path, "watch", "--plain", *page, str(file), *words, **how)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    return process


def test_an_option_after_the_program_goes_to_it_with_a_note(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text("import sys; print(sys.argv[1:])")
    done = tuilab(tmp_path, "watch", str(file), "--fail-on", "any", "--lr=1", "--json=x")
    assert done.returncode == 0 and done.stdout == "['--fail-on', 'any', '--lr=1', '--json=x']\n"
    notes = [line for line in done.stderr.splitlines() if "comes after the program" in line]
    assert [note.split()[1] for note in notes] == ["--fail-on", "--json=x"]


def test_output_exit_code_and_input_pass_through(tmp_path: Path) -> None:
    alone, watched = both(tmp_path, PLAIN, given="a line\n")
    assert (watched.returncode, watched.stdout, watched.stderr) == (3, alone.stdout, alone.stderr)
    assert "TensorFlow was not detected" in (tmp_path / "page.txt").read_text()


ASKS_FIRST = """
from importlib.util import find_spec
assert find_spec("tensorflow") and find_spec("keras")
import tensorflow as tf
step = tf.function(lambda x: tf.reduce_sum(x @ x))
for _ in range(200):
    step(tf.ones((64, 64)))
"""


@pytest.mark.slow
def test_a_program_that_first_asks_whether_tensorflow_is_installed_is_observed(tmp_path: Path) -> None:
    """Libraries for several frameworks check whether TensorFlow is installed before they import it."""
    _, watched = both(tmp_path, ASKS_FIRST)
    page = (tmp_path / "page.txt").read_text()
    assert watched.returncode == 0 and "TensorFlow was not detected" not in page, page


WITHOUT_STEPS = """
import time
import tensorflow as tf
step = tf.function(lambda x: tf.reduce_sum(x @ x))
for _ in range(4):
    for _ in range(8):
        step(tf.ones((64, 64)))
    time.sleep(1.5)
"""
"""A program that mostly sleeps. Profiler windows open while it sleeps, so their profiles are dropped."""


@pytest.mark.slow
@pytest.mark.parametrize("source", ["", WITHOUT_STEPS], ids=["steps", "pauses"])
def test_profiler_messages_of_tensorflow_are_not_in_the_program_output(tmp_path: Path, source: str) -> None:
    """TensorFlow's log is on, because only the program's author may turn it off."""
    program = Path(__file__).parent / "programs" / "good_loop.py"
    if source:
        program = tmp_path / "pauses.py"
        program.write_text(source)
    command = [
        *TUILAB,
        "watch",
        "--plain",
        "--every",
        "0.5",
        "--json",
        str(tmp_path / "page.json"),
        str(program),
    ]
    settings = {**environment(tmp_path), "TMPDIR": str(tmp_path)}
    settings.pop("TF_CPP_MIN_LOG_LEVEL", None)
    ran = subprocess.run(command, capture_output=True, text=True, env=settings, timeout=120)
    assert json.loads((tmp_path / "page.json").read_text())["cost"]["windows"] > 0
    before, _, _ = ran.stderr.partition("tuilab watched")
    assert "cpu_feature_guard" in before and "profiler_session" not in before and "XSpace" not in before


@pytest.mark.parametrize(
    "text",
    [
        "raise ValueError('a fault of its own')",
        "import os; os._exit(1)",
        "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
        "import os, sys; os.execv(sys.executable, [sys.executable, '-c', 'print(1)'])",
        "import os\npid = os.fork()\nif pid: os.waitpid(pid, 0)\nprint('both', flush=True)",
        "print('x' * 10_000_000)",
    ],
    ids=["exception", "_exit", "signal", "exec", "fork", "much output"],
)
def test_the_program_decides_its_exit_code(tmp_path: Path, text: str) -> None:
    alone, watched = both(tmp_path, text)
    assert (watched.returncode, watched.stdout, watched.stderr) == (
        alone.returncode,
        alone.stdout,
        alone.stderr,
    )
    assert [name for name in os.listdir(tmp_path) if name.startswith("tuilab-watch")] == []


@pytest.mark.long
def test_a_hundred_megabytes_of_output_pass_through(tmp_path: Path) -> None:
    alone, watched = both(tmp_path, "import sys\nfor _ in range(1_000): sys.stdout.write('x' * 100_000)")
    assert watched.returncode == 0 and len(watched.stdout) == len(alone.stdout) == 100_000_000


def test_a_daemon_continues_after_its_program_ends(tmp_path: Path) -> None:
    """The program exits without waiting for the daemon. The daemon writes its file after tuilab has exited."""
    text = (
        "import os, sys, time\n"
        "if os.fork(): sys.exit(0)\n"
        "os.setsid()\n"
        "if os.fork(): os._exit(0)\n"
        "null = os.open(os.devnull, os.O_RDWR)\n"
        "for number in range(3): os.dup2(null, number)\n"
        "while not os.path.exists(sys.argv[1]): time.sleep(0.05)\n"
        "open(sys.argv[2], 'w').write(sys.argv[1])\n"
    )
    asked, made = tmp_path / "asked", tmp_path / "made"
    file = tmp_path / "train.py"
    file.write_text(text)
    command = [*TUILAB, "watch", "--plain", str(file), str(asked), str(made)]
    settings = {**environment(tmp_path), "TMPDIR": str(tmp_path)}
    assert subprocess.run(command, capture_output=True, env=settings, timeout=120).returncode == 0
    assert [name for name in os.listdir(tmp_path) if name.startswith("tuilab-watch")] == []
    asked.touch()
    while not made.exists():  # the test's time limit ends this loop
        time.sleep(0.05)


def test_ctrl_c_twice_reaches_the_program_twice(tmp_path: Path) -> None:
    process = started(
        tmp_path,
        # `signal.pause` would miss a signal that arrived just before it
        "import time\n"
        "for number in range(2):\n"
        "    try:\n        print('ready', flush=True)\n        while True: time.sleep(0.05)\n"
        "    except KeyboardInterrupt:\n        print('interrupted', flush=True)\n"
        "raise SystemExit(5)\n",
    )
    assert process.stdout is not None
    for following in ("ready\n", ""):
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted\n"
        assert process.stdout.readline() == following
    assert process.wait(60) == 5


def test_only_the_thread_that_forwards_signals_receives_them(tmp_path: Path) -> None:
    """Another thread would lose a signal that arrives while the main thread forwards the one before."""
    text = "print('ready', flush=True)\nimport sys; sys.stdin.readline()\n"
    process = started(tmp_path, text, stdin=subprocess.PIPE)
    tasks = Path(f"/proc/{process.pid}/task")
    masks = {
        int(task.name): int(re.findall(r"SigBlk:\s*(\w+)", (task / "status").read_text())[0], 16)
        for task in tasks.iterdir()
    }
    process.communicate("\n", timeout=60)
    masks.pop(process.pid)
    open_ = {task for task, mask in masks.items() if not mask >> (signal.SIGINT - 1) & 1}
    assert masks and not open_


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1])
def test_signals_are_passed_on(tmp_path: Path, number: signal.Signals) -> None:
    process = started(
        tmp_path,
        "import signal, sys, time\n"
        f"signal.signal({int(number)}, lambda *_: sys.exit(7))\n"
        "print('ready', flush=True)\n"
        "while True: time.sleep(0.05)\n",
    )
    process.send_signal(number)
    assert process.wait(60) == 7


GOES_ON = """
import os, sys, time
print("ready", flush=True)
while not os.path.exists(sys.argv[1]): time.sleep(0.02)
print("end", flush=True)
raise SystemExit(7)
"""


def test_suspending_a_watcher_does_not_end_the_program(tmp_path: Path) -> None:
    """Ctrl-Z and `fg` interrupt the system call in which tuilab waits for a signal. Python may then report a
    signal that was never sent.
    """
    process = started(tmp_path, GOES_ON, str(tmp_path / "go"))
    assert process.stdout is not None
    for _ in range(3):
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.7)
        process.send_signal(signal.SIGCONT)
        time.sleep(0.1)
    (tmp_path / "go").touch()
    assert (process.wait(60), process.stdout.read()) == (7, "end\n")


def test_a_caller_that_ignores_child_signals_still_gets_the_exit_code(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text("raise SystemExit(7)")
    ignoring = "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"
    words = [sys.executable, "-c", ignoring, *TUILAB, "watch", "--plain", str(file)]
    done = subprocess.run(words, capture_output=True, text=True, env=environment(tmp_path), timeout=120)
    assert done.returncode == 7 and "Traceback" not in done.stderr, done


def test_watching_works_with_a_long_temporary_folder_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / ("x" * 100)
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    listener = Listener(lambda *_: None)
    assert listener.address.is_socket() and listener.folder.stat().st_mode & 0o777 == 0o700
    listener.close()
    listener.remove()
    assert not listener.folder.exists()


def test_a_program_that_ends_at_once_is_not_waited_for() -> None:
    """The notification of the program's end may reach a thread that discards it."""
    listener = Listener(lambda *_: None)
    try:
        assert [run(["true"], listener) for _ in range(8)] == [0] * 8
    finally:
        listener.close()
        listener.remove()


def test_a_program_that_cannot_be_started_is_named(tmp_path: Path) -> None:
    done = tuilab(tmp_path, "watch", "--plain", "/nowhere/python")
    assert done.returncode == 2 and "/nowhere/python" in done.stderr


TENSORFLOW = """
import tensorflow as tf

@tf.function(autograph=False)  # whose files have a new name each time
def step(x):
    return tf.linalg.matmul(x, x)

x = tf.random.normal((64, 64))
for _ in range(30):
    x = step(x) / 64.0
step(tf.ones((3, 4)))
"""


@pytest.mark.slow
def test_a_traceback_from_inside_a_function_is_unchanged(tmp_path: Path) -> None:
    alone, watched = both(tmp_path, TENSORFLOW)
    assert "Matrix size-incompatible" in alone.stderr or "Dimensions must be equal" in alone.stderr
    assert (watched.returncode, watched.stdout) == (1, alone.stdout)
    shown, wanted = (text[text.index("Traceback") :] for text in (watched.stderr, alone.stderr))
    assert shown == wanted  # earlier lines contain times from TensorFlow's log, which differ between runs


@pytest.mark.slow
def test_the_profiler_of_the_program_has_precedence(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text(
        "import glob, sys, time\nimport tensorflow as tf\n"
        "step = tf.function(lambda x: x @ x / 64.0)\nx = tf.random.normal((64, 64))\n"
        "def loop(seconds):\n    global x\n    end = time.monotonic() + seconds\n"
        "    while time.monotonic() < end:\n        x = step(x)\n"
        "loop(1.5)\n"
        "for number in range(3):\n"
        "    tf.profiler.experimental.start(f'{sys.argv[1]}/{number}')\n    loop(0.2)\n"
        "    tf.profiler.experimental.stop()\n    loop(0.3)\n"
        "assert len(glob.glob(sys.argv[1] + '/**/*.xplane.pb', recursive=True)) == 3\n"
    )
    out = tmp_path / "page.json"
    words = ("--every", "0.5", "--json", str(out), str(file), tempfile.mkdtemp())
    done = tuilab(tmp_path, "watch", "--plain", *words)
    page = json.loads(out.read_bytes())
    assert done.returncode == page["exit_code"] == 0, done.stderr
    assert page["cost"]["windows"] >= 1
    assert any("profiler itself" in note for note in page["notes"])
    assert {"command", "python", "tensorflow", "steps", "parts", "functions", "ops", "findings"} <= set(page)


STEPS = """
import sys, time
import tensorflow as tf

step = tf.function(lambda x: tf.nn.relu(x @ x) * 1e-3)
x = tf.random.normal((100, 100))
print("ready", flush=True)
end = time.monotonic() + 2
while time.monotonic() < end:
    x = step(x)
print("done", flush=True)
"""


@pytest.mark.slow
def test_each_process_has_a_row_and_no_process_is_left(tmp_path: Path) -> None:
    """The program starts two child processes that import TensorFlow. One of them exits with os._exit."""
    file, out = tmp_path / "train.py", tmp_path / "page.json"
    file.write_text(
        "import multiprocessing, os\n"
        f"def child(number):\n    exec({STEPS!r}, {{}})\n    os._exit(number)\n"
        "if __name__ == '__main__':\n"
        "    of = multiprocessing.get_context('spawn').Process\n"
        "    children = [of(target=child, args=(number,)) for number in range(2)]\n"
        "    for one in children: one.start()\n"
        "    for one in children: one.join()\n"
        "    print([one.exitcode for one in children])\n"
    )
    env = environment(tmp_path, TMPDIR=str(tmp_path))
    done = tuilab(tmp_path, "watch", "--plain", "--json", str(out), str(file), env=env)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "[0, 1]"), done.stderr
    page = json.loads(out.read_bytes())
    assert len(page["processes"]) == 2
    assert all(process["steps"]["n"] > 10 for process in page["processes"])
    assert [name for name in os.listdir(tmp_path) if name.startswith(("tuilab-watch", "window"))] == []


@pytest.mark.slow
def test_a_program_continues_when_the_lab_is_killed(tmp_path: Path) -> None:
    process = started(tmp_path, STEPS)
    assert process.stdout is not None and process.stderr is not None
    process.kill()
    assert process.stdout.read() == "done\n"
    assert "Traceback" not in process.stderr.read()
    assert process.wait(10) == -signal.SIGKILL


MANY = """
import tensorflow as tf

step = tf.function(lambda x: x * 0.5)
x = tf.ones((4, 4))
for _ in range(300):
    x = step(x)
"""
PATCHED = """
import builtins, json, threading, time
import tensorflow

def broken(*given, **named):
    raise RuntimeError("the program replaced this")

for module, names in ((json, "dumps loads"), (builtins, "open"), (threading, "Thread Event Timer")):
    for name in names.split():
        setattr(module, name, broken)
for name in "time monotonic perf_counter process_time thread_time sleep".split():
    setattr(time, name, lambda *given: 0.0)
"""
EDGES = {
    "patched": (PATCHED + MANY, 300),
    "left at once": (f"{MANY}\nimport os\nos._exit(3)", 300),
    "killed": (f"{MANY}\nimport os, time\ntime.sleep(1)\nos.kill(os.getpid(), 9)", 300),
    "in a thread": (
        f"import threading\nt = threading.Thread(target=exec, args=({MANY!r}, {{}}))\nt.start()\nt.join()",
        300,
    ),
    "forked before": (f"import os\nchild = os.fork()\n{MANY}\nchild and os.waitpid(child, 0)", 300),
    "forked behind": (f"{MANY}\nimport os\nif not os.fork(): os._exit(0)\nos.wait()", 300),
    "replaced": (
        f"import sys, os\nimport tensorflow\nos.execv(sys.executable, [sys.executable, '-c', {MANY!r}])",
        300,
    ),
    "many functions": (
        "import tensorflow as tf\nfor _ in range(300):\n"
        "    tf.function(lambda x: x + 1.0, autograph=False)(tf.constant(1.0))",
        0,
    ),
    "fifty thousand steps": (MANY.replace("300", "50_000"), 50_000),
    "sessions": (
        "import tensorflow.compat.v1 as tf\ntf.disable_v2_behavior()\n"
        "with tf.Session() as session:\n    print(session.run(tf.constant(1.0) + 1.0))\n"
        "import time\ntime.sleep(1)",
        0,
    ),
}
SAID = {
    "fifty thousand steps": "50,000 seen",
    "sessions": "graph mode",
    "many functions": "created again each time",
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=() if n in ("left at once", "patched") else pytest.mark.long) for n in EDGES],
)
def test_unusual_programs_run_as_alone_and_their_steps_are_reported(tmp_path: Path, name: str) -> None:
    text, steps = EDGES[name]
    alone, watched = both(tmp_path, text)
    assert (watched.returncode, watched.stdout) == (alone.returncode, alone.stdout), watched.stderr
    assert "Traceback" not in watched.stderr
    page = (tmp_path / "page.txt").read_text()
    assert SAID.get(name, f"{steps} seen") in page and "observer" not in page, page
    assert [name for name in os.listdir(tmp_path) if name.startswith(("tuilab-watch", "window"))] == []
