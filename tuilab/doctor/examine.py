"""Runs all probes in parallel with one deadline, and writes the report."""

import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from tuilab.doctor import (
    causes,
    children,
    container,
    devices,
    environment,
    hardware,
    kernel_driver,
    libcuda,
    libraries,
    packages,
    sandbox,
    tensorflow,
)
from tuilab.doctor.findings import Findings
from tuilab.doctor.place import Place
from tuilab.model.doctor import DoctorReport, Probe
from tuilab.model.sanitize import sanitize_line

LIMIT_S = 26.0
"""Time limit of the whole examination, in seconds.

With Python's start and the printing, the doctor takes at most 30 s. The limit grows by
`tensorflow.COMPILING_S` only while the driver compiles TensorFlow's kernels from PTX.
"""

CHILD_MARGIN_S = 2.0
"""Child processes are killed this many seconds before the deadline, so that their output can still be
reported.
"""

Wait = Callable[[float], None]
Task = Callable[[Place, float, Wait], Iterable[tuple[str, Any]]]


def _files(place: Place, until: float, wait: Wait) -> Iterator[tuple[str, Any]]:
    yield "environment", environment.look(place)
    yield "container", container.look(place)
    yield "hardware", hardware.look(place)
    yield "kernel", kernel_driver.look(place, until)


def _wheels(place: Place, until: float, wait: Wait) -> Iterator[tuple[str, Any]]:
    found = packages.look(place)
    yield "packages", found
    yield "toolchain", libraries.toolchain(place, found)
    yield "libraries", libraries.look(place, found, environment.look(place), until)


TASKS: tuple[Task, ...] = (
    lambda place, until, wait: [("tensorflow", tensorflow.look(place, until, wait))],
    _files,
    _wheels,
    lambda place, until, wait: [("libcuda", libcuda.look(place, until))],
    lambda place, until, wait: [("unhidden", libcuda.look_unhidden(place, until))],
    lambda place, until, wait: [("sandbox", sandbox.look(place, until))],
    lambda place, until, wait: [("devices", devices.look(place, until))],
)

SHOWN: tuple[tuple[str, str, Callable[[Any], Probe]], ...] = (
    ("packages", "packages", packages.probe),
    ("hardware", "hardware", hardware.probe),
    ("kernel", "kernel driver", kernel_driver.probe),
    ("container", "container", container.probe),
    ("environment", "environment", environment.probe),
    ("libcuda", "libcuda", libcuda.probe),
    ("unhidden", libcuda.UNHIDDEN, libcuda.probe_unhidden),
    ("libraries", "CUDA libraries", libraries.probe),
    ("toolchain", "XLA toolchain", lambda found: found),
    ("devices", "devices", devices.probe),
)
"""Probes in the order of the report: field of `Findings`, name of the probe, and function that describes the
finding. The probes of TensorFlow and of the sandbox follow.
"""


def examine(
    place: Place | None = None, limit_s: float = LIMIT_S, wait: Wait = lambda seconds: None
) -> DoctorReport:
    """Run all probes within `limit_s` seconds and return the report. Never imports TensorFlow in this
    process.

    wait: called with the number of extra seconds if the driver is compiling kernels for the GPU.
    """
    place = place or Place()
    begun = time.monotonic()
    found = gather(place, begun + limit_s, begun + max(limit_s - CHILD_MARGIN_S, limit_s / 2), wait)
    silent = {name: why for name, why in found.items() if isinstance(why, Unanswered)}
    answered = {name: finding for name, finding in found.items() if name not in silent}
    fields = {name: finding for name, finding in answered.items() if name != "toolchain"}
    findings = replace(Findings(python=place.python, silent=tuple(silent)), **fields)
    first, *further = causes.diagnose(findings)
    return DoctorReport(
        gpu_visible=bool(findings.gpus),
        code=first.code,
        cause=sanitize_line(first.message, 1_000),
        mend=first.remedy,
        further=tuple(further),
        probes=_probes(findings, answered, silent),
        devices=findings.devices.found,
        elapsed_s=time.monotonic() - begun,
    )


LONGER = "longer"
"""Key with which a task asks for more time; the value is the number of extra seconds."""


class Unanswered(str):
    """The reason why a probe has no finding."""


def gather(place: Place, deadline: float, until: float, wait: Wait = lambda seconds: None) -> dict[str, Any]:
    """Run each task in its own thread. Return the findings by name, with an `Unanswered` for each finding
    that missed the deadline.

    The threads are daemons, so a thread that hangs in the kernel does not delay the exit.
    """
    answers: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
    begun = time.monotonic()
    for task in TASKS:
        threading.Thread(target=_run, args=(task, place, until, answers), daemon=True).start()
    expected = {name for name, _, _ in SHOWN} | {"tensorflow", "sandbox"}
    found: dict[str, Any] = {}
    ended, failed = 0, ""
    try:
        while ended < len(TASKS):
            name, finding = answers.get(timeout=max(0.0, deadline - time.monotonic()))
            if name == LONGER:
                deadline += finding
                wait(finding)
            elif name:
                found[name] = finding
            else:
                ended += 1
                failed = finding or failed
    except queue.Empty:
        pass
    finally:
        children.kill_all()
    why = failed or f"did not answer within {time.monotonic() - begun:.0f} s"
    return found | {name: Unanswered(why) for name in expected - set(found)}


def _run(task: Task, place: Place, until: float, answers: "queue.SimpleQueue[tuple[str, Any]]") -> None:
    try:
        for answer in task(place, until, lambda seconds: answers.put((LONGER, seconds))):
            answers.put(answer)
        answers.put(("", ""))
    except Exception as error:  # a bug in one probe must not lose the other findings
        answers.put(("", sanitize_line(f"the probe itself failed: {type(error).__name__}: {error}", 300)))


def _probes(findings: Findings, answered: dict[str, Any], silent: dict[str, Unanswered]) -> tuple[Probe, ...]:
    out = []
    for field, name, tell in SHOWN:
        out.append(Probe(name, "fail", str(silent[field])) if field in silent else tell(answered[field]))
    if "tensorflow" in silent:
        out.append(Probe("TensorFlow import", "fail", str(silent["tensorflow"])))
    else:
        out += tensorflow.probes(findings.tensorflow)
    if "sandbox" in silent:
        return (*out, Probe(sandbox.NAME, "fail", str(silent["sandbox"])))
    return (*out, sandbox.probe(findings.sandbox, findings.libcuda))
