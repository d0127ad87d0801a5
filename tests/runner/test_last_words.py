import sys

import pytest

from tests.runner.test_supervisor import Rig, measure
from tuilab.model.errors import CLOSED
from tuilab.model.events import Finished, WorkerExited
from tuilab.runner import process


def test_a_kill_is_blamed_on_memory_only_if_the_kernel_says_so(monkeypatch):
    monkeypatch.setattr(process, "oom_kills", lambda: 3)
    assert "(out of memory)" in process.local_end(-9, [], 2)
    assert "not out of memory" in process.local_end(-9, [], 3)
    assert "(possibly out of memory)" in process.local_end(-9, [], None)
    assert process.local_end(-9, ["x", CLOSED], 3) == f"the worker ended: {CLOSED}"


@pytest.mark.skipif(sys.platform != "linux", reason="Linux counts them")
def test_the_kernel_counts_kills_for_memory():
    assert process.oom_kills() is not None


CLOSES = """
import os, sys, threading, time
from tuilab.worker.channel import Channel
channel = Channel.from_stdio()
from tuilab.model import events as e, requests
from tuilab.model.machine import Machine
machine = Machine(host="h", cpu="c", cores=2, memory=1, os="o", python="3", tensorflow="2.21.0")
channel.send(e.Hello(protocol=e.PROTOCOL, tuilab="x", pid=os.getpid()))
channel.send(e.Ready(machine=machine, import_s=0.1, start_s=0.1))
for line in channel.lines():
    if isinstance(requests.decode(line), requests.Measure):
        os.closerange(3, 256)
        channel.send(e.Log(text="never heard"))
"""


async def test_code_that_closes_every_descriptor_is_reported_as_such():
    rig = Rig("good")
    rig.supervisor = type(rig.supervisor)(rig.events.append, [sys.executable, "-c", CLOSES])
    await rig.supervisor.start()
    await rig.ready()
    await rig.supervisor.measure(measure())
    await rig.until(lambda: rig.of(Finished) and rig.of(WorkerExited))
    assert rig.of(Finished)[0].message == f"the worker ended: {CLOSED}"
    await rig.supervisor.close()
