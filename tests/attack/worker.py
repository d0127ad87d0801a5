"""A worker without TensorFlow, but with the real channel and spool. It measures a round in a few
milliseconds.

Arguments: seconds per round, and a file for the number of finished rounds; optionally the number of rounds
per run, and the seconds until the worker is ready.
"""

import os
import queue
import sys
import threading
import time
from datetime import UTC, datetime

from tuilab.worker.channel import Channel

channel = Channel.from_stdio()

import msgspec  # noqa: E402

from tests.made import profile  # noqa: E402
from tuilab.model import events as e  # noqa: E402
from tuilab.model import requests  # noqa: E402
from tuilab.model.machine import Device, Machine  # noqa: E402
from tuilab.model.profile import ProfileFile  # noqa: E402
from tuilab.model.roofline import Roofs  # noqa: E402
from tuilab.model.workload import Declaration  # noqa: E402

LENGTH, TRUTH = float(sys.argv[1]), sys.argv[2]
USUAL = int(os.environ.get("ATTACK_ROUNDS", "10000"))
ROUNDS = (
    int(sys.argv[3]) if sys.argv[3:] and sys.argv[3].isdigit() else USUAL
)  # over ssh, this argument is `worker`
WARM_S = float(sys.argv[4]) if sys.argv[4:] else 0.0
MACHINE = Machine(
    host="h", cpu="c", cores=2, memory=2**33, os="o", python="3", tensorflow="2.21.0", devices=(Device("CPU:0", "CPU"),)
)  # fmt: skip
stopped: set[str] = set()
inbox: queue.SimpleQueue[requests.Measure] = queue.SimpleQueue()


def measure_all() -> None:
    """Measure the requested runs one after another, like the real worker. The end of a run must not close the
    spool file of the next run.
    """
    while True:
        measure(inbox.get())


def measure(request: requests.Measure) -> None:
    if request.spool:
        channel.keep(request.id, request.spool, request.finish)
    points = request.points or (e.Point(0),)
    at = datetime.now(UTC).isoformat(timespec="seconds")
    channel.send(
        e.RunStarted(
            run=request.id, scenario=request.scenario, arms=request.arms, points=points, budget=request.budget,
            machine=MACHINE, at=at, preset=request.preset, sweep=request.sweep, worker=request.worker,
        )
    )  # fmt: skip
    truth = os.open(f"{TRUTH}.{request.id}", os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
    begun = time.monotonic()
    for index in range(ROUNDS):
        if request.id in stopped:
            break
        time.sleep(LENGTH)
        blocks = tuple(e.Block(arm.id, points[0].index, 4, 1e-3 + 1e-6 * (index % 7)) for arm in request.arms)
        elapsed = time.monotonic() - begun
        channel.send(e.Round(run=request.id, index=index, blocks=blocks, elapsed_s=elapsed, timed_s=1e-2))
        os.write(truth, b".")
    channel.send(e.Finished(run=request.id, status="cancelled" if request.id in stopped else "ok"))
    channel.kept()


def answer(request: requests.Ask) -> None:
    bodies: list[msgspec.Struct] = [
        Roofs(machine=MACHINE.key, at="2026-11-23T00:00:00Z", seconds=1.0, sync_s=1e-6)
    ]
    if request.kind == "profile":
        bodies = [ProfileFile(path="plugins/x.pb", data=b"x" * 5_000), profile()]
    for body in bodies:
        raw = msgspec.Raw(msgspec.json.encode(body))
        more = body is not bodies[-1]
        channel.send(e.Answer(request=request.id, kind=type(body).__name__, body=raw, more=more))


threading.Thread(target=measure_all, daemon=True).start()
channel.send(e.Hello(protocol=e.PROTOCOL, tuilab="attack", pid=os.getpid()))
time.sleep(WARM_S)
channel.send(e.Ready(machine=MACHINE, import_s=0.1, start_s=0.1))
for line in channel.lines():
    request = requests.decode(line)
    if isinstance(request, requests.Cancel):
        stopped.add(request.id)
    elif isinstance(request, requests.Ask):
        answer(request)
    elif isinstance(request, requests.Declare):
        declared = Declaration(
            name="own", title="A model", unit="call", summary="", parameters=(), variants=()
        )
        channel.send(e.Declared(request=request.id, file=request.file, declaration=declared))
    elif isinstance(request, requests.Measure):
        inbox.put(request)
channel.reader_gone()
while (spool := channel._spool) is not None and spool.alone:
    time.sleep(0.05)
