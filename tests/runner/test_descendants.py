"""No process that a worker's code starts outlives the worker, however it starts and whichever process ends
first.
"""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from test_supervisor import Rig, measure

from tuilab.model.events import Finished, Log, Round, WorkerExited
from tuilab.processes import descendants, find_marked, since
from tuilab.runner.supervisor import Supervisor

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are identified on Linux only")

KINDS = {
    "group": "subprocess.Popen(['sleep', N])",
    "session": "subprocess.Popen(['sleep', N], start_new_session=True)",
    "bare session": "subprocess.Popen(['sleep', N], start_new_session=True, env={})",
    "daemon": "os.fork() or (os.setsid(), os.fork() and os._exit(0), os.execvp('sleep', ['sleep', N]))",
    "bare daemon": "os.fork() or (os.setsid(), os.fork() and os._exit(0), os.execvpe('sleep', ['sleep', N], {}))",
    "fork": "os.fork() or (signal.signal(signal.SIGTERM, signal.SIG_IGN), time.sleep(float(N)))",
    "pipes": "subprocess.Popen(['sh', '-c', 'exec sleep ' + N], start_new_session=True, stdout=1, stderr=2)",
    "many": "[subprocess.Popen(['sleep', N], start_new_session=i % 2 == 0) for i in range(20)]",
}

WORKER = """
import os, signal, subprocess, sys, time
from tuilab.worker.channel import Channel
from tuilab.model import events as e
channel = Channel.from_stdio()
N = sys.argv[1]
{start}
time.sleep(0.2)
channel.send(e.Log(text='started'))
{then}
for line in channel.lines():
    pass
channel.reader_gone()
"""


def sleeping(length: str) -> list[int]:
    """Return the processes that sleep for `length` seconds, or are about to start sleeping."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
            state = (path.parent / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if length.encode() in words and state != "Z":
            found.append(int(path.parent.name))
    return found


def gone(length: str, limit_s: float = 30) -> bool:
    end = time.monotonic() + limit_s
    while sleeping(length) and time.monotonic() < end:
        time.sleep(0.02)
    return not sleeping(length)


@pytest.fixture
def length():
    """Return a sleep duration that no other process on this machine uses."""
    name = f"9{os.getpid() % 10_000:04}.{time.time_ns() % 1_000_000_000}"
    yield name
    for pid in sleeping(name):
        os.kill(pid, signal.SIGKILL)


def worker(kind: str, length: str, then: str = "") -> list[str]:
    return [sys.executable, "-c", WORKER.format(start=KINDS[kind], then=then), length]


@pytest.mark.parametrize("kind", KINDS)
async def test_child_processes_end_with_the_worker(kind, length):
    lines: list[object] = []
    supervisor = Supervisor(lines.append, worker(kind, length))
    await supervisor.start()
    async with asyncio.timeout(60):
        while not any(isinstance(event, Log) and event.text == "started" for event in lines):
            await asyncio.sleep(0.01)
        assert len(sleeping(length)) > 1
        await supervisor.close()
    assert gone(length) and isinstance(lines[-1], WorkerExited)


@pytest.mark.parametrize("kind", KINDS)
def test_child_processes_end_if_the_starter_of_the_worker_is_killed(kind, length, tmp_path):
    code = (
        "import asyncio, sys\n"
        "from tuilab.runner.supervisor import Supervisor\n"
        "async def main():\n"
        "    supervisor = Supervisor(lambda event: print(event, flush=True), sys.argv[1:])\n"
        "    await supervisor.start()\n"
        "    await asyncio.sleep(600)\n"
        "asyncio.run(main())\n"
    )
    words = [sys.executable, "-c", code, *worker(kind, length, "while True: time.sleep(1)")]
    lab = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    while "started" not in lab.stdout.readline():
        assert lab.poll() is None
    assert len(sleeping(length)) > 1
    lab.kill()
    lab.wait()
    assert gone(length)


@pytest.mark.parametrize("kind", ["session", "daemon", "fork"])
async def test_child_processes_end_if_the_worker_is_killed(kind, length):
    lines: list[object] = []
    supervisor = Supervisor(lines.append, worker(kind, length, "os.kill(os.getpid(), signal.SIGKILL)"))
    await supervisor.start()
    async with asyncio.timeout(60):
        while not any(isinstance(event, WorkerExited) for event in lines):
            await asyncio.sleep(0.01)
    assert gone(length)
    await supervisor.close()


def test_a_process_is_identified_by_mark_and_start_time():
    child = subprocess.Popen(["sleep", "600"], env={"TUILAB_MARK": f"a test's {os.getpid()}"})
    try:
        assert [found.pid for found in find_marked(f"a test's {os.getpid()}")] == [child.pid]
        assert child.pid in [found.pid for found in descendants(os.getpid())]
        assert since(child.pid) > 0 == since(2**22 + 1)
    finally:
        child.kill()
        child.wait()


async def test_an_undecodable_line_is_tolerated():
    rig = Rig("broken text")
    await rig.supervisor.start()
    await rig.supervisor.measure(measure())
    await rig.until(lambda: rig.of(Finished))
    assert len(rig.of(Round)) == 3
    assert sum("not an event" in log.text for log in rig.of(Log)) == 3
    await rig.supervisor.close()


async def test_a_listener_that_raises_stops_neither_the_run_nor_the_worker():
    rig = Rig("good")
    told: list[dict] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, about: told.append(about))

    def deaf(event: object) -> None:
        rig.events.append(event)
        raise BrokenPipeError("the terminal has gone")

    rig.supervisor = Supervisor(deaf, rig.supervisor._command)
    await rig.supervisor.start()
    await rig.supervisor.measure(measure())
    await rig.until(lambda: rig.of(Finished))
    assert rig.of(Finished)[0].status == "ok" and len(rig.of(Round)) == 3
    assert all(isinstance(about["exception"], BrokenPipeError) for about in told) and told
    await rig.supervisor.close()
