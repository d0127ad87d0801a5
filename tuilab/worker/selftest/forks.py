"""Checks that processes forked after importing TensorFlow measure the same times as fresh processes."""

import json
import math
import os
import random
import socket
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Optional

from tuilab.analysis.statistics import median, t_quantile
from tuilab.analysis.words import percent
from tuilab.model import events as e
from tuilab.model.arms import Arm
from tuilab.model.parameters import check_values
from tuilab.model.requests import Measure, encode
from tuilab.model.run import RunState
from tuilab.model.scenario import Budget, Scenario
from tuilab.model.selftest import Check
from tuilab.worker.context import Context
from tuilab.workloads import find

FRESH, FORKS = 3, 9
ARM = Arm("CPU:0", "graph", dtype="float32", variant="whole")
BUDGET = Budget(name="quick", warm_s=0.2, warm_limit_s=1.0, precision=1.0, rounds=20, limit_s=2.0)
LIMIT = "the 99% interval of forked / fresh contains 1"
LONGEST_S = 60.0


def forked(context: Context) -> Optional[Check]:
    """Compare forks with fresh processes, in random order. Returns None if tuilab forks no runs on this
    system.
    """
    own = context.machine
    if sys.platform != "linux" or own.gpus or own.environment:
        return None
    with ExitStack() as stack:
        asking = stack.enter_context(_zygote())
        turns = ["fresh"] * FRESH + ["forked"] * FORKS
        random.shuffle(turns)
        found: dict[str, list[float]] = {"fresh": [], "forked": []}
        for kind in turns:
            with _fork_worker(asking) if kind == "forked" else _fresh() as (told, ask):
                found[kind].append(math.log(_measure(told, ask)))
    return judged(found["forked"], found["fresh"])


def judged(forks: Sequence[float], fresh: Sequence[float]) -> Check:
    """Check that both kinds of process have the same mean log time (Student's t-test, pooled variance)."""
    free = len(forks) + len(fresh) - 2
    squares = sum((len(logs) - 1) * statistics.variance(logs) for logs in (forks, fresh))
    error = math.sqrt(squares / free * (1 / len(forks) + 1 / len(fresh)))
    half = t_quantile(0.995, free) * error
    apart = statistics.fmean(forks) - statistics.fmean(fresh)
    low, high = math.exp(apart - half), math.exp(apart + half)
    return Check(
        name="forked",
        figure=math.exp(apart),
        limit=LIMIT,
        passed=low <= 1 <= high,
        message=(
            f"{len(forks)} forked processes take {math.exp(apart):.3f} [{low:.3f} {high:.3f}] of the time "
            f"of {len(fresh)} fresh processes; a difference below {percent(math.expm1(half))} "
            "would go undetected"
        ),
    )


Ends = tuple[Iterable[bytes], Callable[[bytes], object]]
"""A worker's output lines, and the function that sends it requests."""


@contextmanager
def _fresh() -> Iterator[Ends]:
    command = [sys.executable, "-P", "-m", "tuilab.worker"]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0,
        start_new_session=True,
    )  # fmt: skip
    assert process.stdin is not None and process.stdout is not None
    try:
        yield process.stdout, process.stdin.write
    finally:
        process.stdin.close()
        process.stdout.close()
        process.kill()
        process.wait()


@contextmanager
def _zygote() -> Iterator[socket.socket]:
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command = [sys.executable, "-P", "-m", "tuilab.worker.zygote", str(there.fileno())]
    with here:
        with there:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                pass_fds=(there.fileno(),), start_new_session=True,
            )  # fmt: skip
        try:
            here.settimeout(LONGEST_S)
            if not here.recv(64):
                raise OSError("the zygote process exited during start-up")
            yield here
        finally:
            process.kill()
            process.wait()


@contextmanager
def _fork_worker(asking: socket.socket) -> Iterator[Ends]:
    """Fork a worker as `tuilab.runner.forked` does, and kill it at the end of the context."""
    request = {
        "environment": dict(os.environ),
        "folder": os.getcwd(),
        "command": [sys.executable, "-P", "-m", "tuilab.worker"],
        "descriptors": [0, 1, 2],
    }
    mine, answer = socket.socketpair()
    here, there = socket.socketpair()
    with mine, here:
        nothing = os.open(os.devnull, os.O_WRONLY)
        with answer, there:
            given = [there.fileno(), there.fileno(), nothing, answer.fileno()]
            socket.send_fds(asking, [json.dumps(request).encode()], given)
        os.close(nothing)
        with here.makefile("rb") as reads:
            yield reads, here.sendall


def _measure(told: Iterable[bytes], ask: Callable[[bytes], object]) -> float:
    state, declaration = RunState(), find("stft").declaration
    values = check_values(declaration.parameters, declaration.constraints, {"samples": 4_096})
    request = Measure(
        id="selftest", scenario=Scenario("stft", values), arms=(ARM,), budget=BUDGET,
        phases=False, placement=False, latency=False,
    )  # fmt: skip
    for line in told:
        event = e.decode(line)
        if isinstance(event, e.Ready):
            ask(encode(request))
        state.apply(event)
        if isinstance(event, e.Finished):
            break
    arm = state.arms.get(ARM.id)
    found = median(arm.cell().samples) if arm is not None else None
    if not found:
        raise RuntimeError(f"a process measured nothing: {state.message or 'it ended'}")
    return found
