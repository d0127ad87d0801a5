"""The worker's side of the protocol, in a separate process without TensorFlow."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.made import regular_run
from tuilab.history.spool import Found, collect, folder, settle
from tuilab.history.store import Store
from tuilab.model import events as e
from tuilab.processes import write_all
from tuilab.spool import Spool

HERE = Path(__file__).parent
WORKER = """
import os, sys, threading, time
sys.argv[0] = "tuilab.worker"
from tuilab.worker.channel import Channel
channel = Channel.from_stdio()
from tuilab.model import events as e
sys.path.insert(0, {history!r})
from tests.made import rounds, started
threading.Thread(target=lambda: (list(channel.lines()), channel.reader_gone()), daemon=True).start()
"""


def start(code: str, *argv: str) -> subprocess.Popen:
    program = WORKER.format(history=str(HERE.parent / "history")) + code
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, "-c", program, "tuilab.worker", *argv], stdin=pipe, stdout=pipe, stderr=pipe
    )


def test_printed_text_does_not_reach_the_protocol():
    code = (
        "print('by python', flush=True); os.write(1, b'by a C library\\n')\n"
        "channel.send(e.Log(text='an event'))\n"
        "assert sys.stdin.read() == ''\n"
    )
    # Keep the worker's standard input open, because the worker exits at its end of file.
    with start(code) as process:
        out, err = process.stdout.read(), process.stderr.read()
    assert e.decode(out) == e.Log(text="an event")
    assert err.splitlines() == [b"by python", b"by a C library"]


def test_a_worker_ends_when_its_reader_closes():
    process = start("channel.send(e.Log(text='up'))\nwhile True: pass")
    process.stdout.readline()
    process.stdin.close()
    assert process.wait(timeout=10) == 0
    process.stdout.close()
    process.stderr.close()


def test_a_worker_that_ends_inside_another_does_not_end_it(monkeypatch):
    """The self-test runs workers inside its own worker to compare fresh processes with forked processes."""
    monkeypatch.setenv("TUILAB_MARK", "given by the runner")
    inner = (
        "import subprocess\n"
        "channel.send(e.Log(text='up'))\n"
        "if sys.argv[-1] == 'outer':\n"
        "    pipe = subprocess.PIPE\n"
        "    inner = subprocess.Popen([*sys.orig_argv[:-1], 'inner'], stdin=pipe, stdout=pipe)\n"
        "    inner.stdout.readline()\n"
        "    inner.kill()\n"
        "    inner.wait()\n"
        "    time.sleep(1)\n"
        "    channel.send(e.Log(text='still here'))\n"
        "else:\n"
        "    time.sleep(60)\n"
    )
    with start(inner, "outer") as process:
        lines = [e.decode(process.stdout.readline()) for _ in range(2)]
    assert lines == [e.Log(text="up"), e.Log(text="still here")]


RUN = """
channel.keep("r1", sys.argv[2])
channel.send(started())
for event in rounds("r1", 20):
    channel.send(event)
    time.sleep(0.02)
channel.send(e.Finished(run="r1", status="ok"))
channel.kept()
"""


@pytest.fixture
def store(tmp_path):
    store = Store.open(tmp_path / "data")
    yield store
    store.close()


def test_a_run_marked_to_be_kept_finishes_without_a_reader(tmp_path, store):
    process = start(RUN, str(tmp_path))
    for _ in range(4):
        process.stdout.readline()
    process.stdin.close()
    process.stdout.close()
    assert process.wait(timeout=20) == 0
    process.stderr.close()
    assert collect(store, tmp_path) == Found(finished=("r1",))
    assert store.runs()[0].status == "ok"
    # The run was read from its file, so it includes the events that no process read from the pipe.
    assert store.state("r1").rounds == 20
    assert not list(tmp_path.glob("r1*"))


def test_running_runs_are_recognised_and_dead_workers_keep_their_rounds(tmp_path, store):
    process = start(RUN, str(tmp_path))
    process.stdout.readline()
    process.stdin.close()
    process.stdout.close()
    part = tmp_path / "r1.part"
    while not part.exists() or part.read_bytes().count(b'"round"') < 5:
        time.sleep(0.01)
    assert collect(store, tmp_path).going_on == {"r1": process.pid}
    process.kill()
    process.wait(timeout=10)
    process.stderr.close()
    with part.open("ab") as stream:
        stream.write(b'{"type":"round","run":"r1","ind')
    assert collect(store, tmp_path).finished == ("r1",)
    assert store.runs()[0].status == "failed"
    assert store.state("r1").rounds >= 5


def test_a_file_about_to_receive_a_run_is_not_touched(tmp_path, store, monkeypatch):
    found = []

    def looked_at(fd: int, data: bytes) -> None:
        found.append(collect(store, tmp_path))
        write_all(fd, data)
        found.append(collect(store, tmp_path))

    (tmp_path / "r0.new").touch()
    # an empty old file, as if its writer had been killed before writing anything
    os.utime(tmp_path / "r0.new", (1e9, 1e9))
    with monkeypatch.context() as patch:
        patch.setattr("tuilab.spool.write_all", looked_at)
        kept = Spool("r1", str(tmp_path))
    for event in regular_run("r1", 4)[:-1]:
        kept.add(e.encode(event))
    assert found == [Found(), Found()] and kept.is_complete and not list(tmp_path.glob("*.[!k]*"))
    kept.go_on_alone()
    kept.close()
    assert collect(store, tmp_path).finished == ("r1",) and store.state("r1").rounds == 4


def test_a_file_that_is_not_a_run_is_set_aside(tmp_path, store):
    (tmp_path / "x.jsonl").write_bytes(os.urandom(100))
    found = collect(store, tmp_path)
    assert "x.unreadable" in found.problems[0]
    assert (tmp_path / "x.unreadable").exists()


def test_a_detached_run_can_be_stopped_and_keeps_its_rounds(tmp_path, store):
    process = start(RUN.replace("0.02", "0.5"), str(folder(tmp_path)))
    process.stdout.readline()
    process.stdin.close()
    process.stdout.close()
    part = folder(tmp_path) / "r1.part"
    while not part.exists() or part.read_bytes().count(b'"round"') < 2:
        time.sleep(0.01)
    before = collect(store, folder(tmp_path))
    # This worker shares the test's process group, so signal only the process.
    process.terminate()
    process.wait(timeout=10)
    process.stderr.close()
    assert settle(store, tmp_path, before).finished == ("r1",)
    assert store.state("r1").rounds >= 2
