"""A worker without TensorFlow. It measures rounds at a steady pace and causes faults."""

import ctypes
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any

import msgspec

from tests.tui.scripted import Script
from tuilab.model import events, requests
from tuilab.model.errors import InputError
from tuilab.model.machine import Device, Machine
from tuilab.worker.context import Cancelled, Context

SIDE_LOG = "TUILAB_SIDE_LOG"
MACHINE = Machine(
    host="fake", cpu="c", cores=2, memory=2**30, os="o", python="3.11", tensorflow="2.21.0",
    devices=(Device("CPU:0"),), cuda_build=True, no_gpu="no NVIDIA driver is loaded",
)  # fmt: skip


class Says(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Instructions for the worker.

    rounds: number of rounds per run. every_s: seconds between rounds. warm_s: seconds until the worker is
    ready. faults: the fault to cause, by number of the round. once: path of a file that is created with the
    first fault; while the file exists, no further fault occurs. stillborn: path of a file without which the
    worker dies at its start.
    """

    rounds: int = 30
    every_s: float = 0.02
    warm_s: float = 0.0
    faults: dict[int, str] = {}
    once: str = ""
    stillborn: str = ""


SCRIPT = Says()
ARMS: list[str] = []
HANDLERS: dict[type[requests.Request], str] = {
    requests.Measure: "tests.faults.measuring:measure",
    requests.Ask: "tests.faults.measuring:other",
    requests.Declare: "tests.faults.measuring:other",
}


def read(given: Mapping[str, Any]) -> Says:
    return msgspec.convert(given, Says, strict=False)


def start(context: Context, pending: object = ()) -> None:
    if SCRIPT.stillborn and not os.path.exists(SCRIPT.stillborn):
        sys.stderr.write("cannot start: no such library\n")
        sys.stderr.flush()
        os._exit(7)
    begun = time.monotonic()
    context.send(events.Warming(stage="importing TensorFlow", elapsed_s=0.0))
    while time.monotonic() - begun < SCRIPT.warm_s:
        time.sleep(0.02)
    context.machine = MACHINE
    context.send(events.Ready(machine=MACHINE, import_s=0.1, start_s=0.1))


def measure(context: Context, request: requests.Request) -> None:
    """Measure a run. Records each round in a file after sending it."""
    assert isinstance(request, requests.Measure)
    done = 0
    ARMS[:] = [arm.id for arm in request.arms if arm.device == "CPU:0"]
    try:
        for batch in Script(request, MACHINE, SCRIPT.rounds).batches():
            context.check(request.id)
            context.painted.clear()
            context.send(*batch)
            for event in batch:
                if isinstance(event, events.Round):
                    note(request.id, event.index)
                    done += 1
            if isinstance(batch[0], events.Round):
                if request.pace:
                    context.painted.wait(0.25)
                time.sleep(SCRIPT.every_s)
                go_wrong(context, request.id, done)
    except Cancelled:
        context.send(events.Finished(run=request.id, status="cancelled", message="stopped by request"))


def other(context: Context, request: requests.Request) -> None:
    raise InputError("worker", type(request).__name__.lower(), "a worker with TensorFlow, to answer it")


def note(run: str, index: int) -> None:
    path = os.environ.get(SIDE_LOG)
    if path:
        fd = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
        os.write(fd, f"{run} {index}\n".encode())
        os.close(fd)


def go_wrong(context: Context, run: str, done: int) -> None:
    fault = SCRIPT.faults.get(done, "")
    if not fault:
        return
    if SCRIPT.once:
        if os.path.exists(SCRIPT.once):
            return
        os.close(os.open(SCRIPT.once, os.O_CREAT | os.O_WRONLY))
    FAULTS[fault](context, run)


def _signal(number: signal.Signals) -> None:
    os.kill(os.getpid(), number)
    time.sleep(60)


def _raise(context: Context, run: str) -> None:
    raise MemoryError("a tensor that no memory holds")


def _allocate(context: Context, run: str) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))
    bytearray(2**34)


def _exhausted(context: Context, run: str) -> None:
    """Fail like TensorFlow on a full device: the arm fails and the run continues."""
    context.send(
        events.ArmStatus(
            run=run,
            arm=ARMS[0],
            status="failed",
            reason="ResourceExhaustedError: OOM when allocating tensor with shape[1099511627776]",
            error=("ResourceExhaustedError", "OpError", "Exception"),
        )
    )


def _hang(context: Context, run: str) -> None:
    """Start a child process, and make a call that never returns. Ignores TERM."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    subprocess.Popen(["sleep", "600"])
    time.sleep(600)


def _hang_hard(context: Context, run: str) -> None:
    """Make a call that never returns and never releases the interpreter lock."""
    while True:
        ctypes.PyDLL(None).sleep(600)  # does not release the interpreter lock


def _noise(context: Context, run: str) -> None:
    """Send incomplete lines, long lines and binary data on both streams."""
    os.write(2, b"\x1b]52;c;aGk=\x07\xff\xfe" + b"x" * 2**20 + b"\n")
    with context.channel._lock:
        os.write(context.channel._write_fd, b'{"type": "round", "run": 3}\nnot json \x00\xff\n')


FAULTS = {
    "segv": lambda context, run: _signal(signal.SIGSEGV),
    "kill": lambda context, run: _signal(signal.SIGKILL),
    "abort": lambda context, run: _signal(signal.SIGABRT),
    "exit": lambda context, run: os._exit(7),
    "memory-error": _raise,
    "allocate": _allocate,
    "device-memory": _exhausted,
    "hang": _hang,
    "hang-hard": _hang_hard,
    "noise": _noise,
}
