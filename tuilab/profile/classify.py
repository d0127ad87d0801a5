"""Interprets the events of a profile by the names that TensorFlow's runtime gives them."""

import re

import msgspec

from tuilab.analysis.operations import plain
from tuilab.model.ops import ITERATORS, RECEIVES, SENDS
from tuilab.model.profile import Phase
from tuilab.profile.xplane import HOST, XEvent

CALL = "tuilab call"
SYNC = "tuilab sync"
MARK = "tuilab mark: "
"""Prefix of the names of tuilab's own events. The rest of such a name is a phase, to which all time inside
the event belongs.
"""

_FUNCTION = re.compile(r"^__(?:inference|forward|backward)_")
_EAGER = "EagerLocalExecute: "
_RUNS = frozenset(("KernelAndDeviceFunc::Run", "KernelAndDeviceOp::Run"))
_DISPATCH = ("TFE_", "Eager", "ValidateInputTypeAndPlacement", "convert_to_tensor", "tf.constant")
_RUNTIME = ("ExecutorState::", "FunctionRun", "ExecutorDoneCallback", "CpuExecutable::", "GpuExecutable::")
_PROGRAM = "BlockUntilReady"
PROGRAM = "program"
"""The phase in which a thread waits for an XLA program. On a CPU, the program computes during this phase,
even if the profiler records no events for its threads.
"""
_PIPELINE = ("Iterator::", "IteratorGetNextOp::", "Prefetch", "MapAndBatch", "InstantiatedCapturedFunction::")
NEXT = "IteratorGetNextOp::"
"""Prefix of the name of an event in which a graph waits for a dataset element, on a separate thread."""

_COPIES = re.compile(r"(?i)memcpy|copy(?:host|device|peer)to|__amd_rocclr_copy")
"""Matches the names of copies in CUPTI and in ROCm's tracer. The last alternative is ROCm's kernel for
copies within a device.
"""


class Key(msgspec.Struct, frozen=True, gc=False):
    op: str
    name: str
    device: str


class Meaning(msgspec.Struct, frozen=True, gc=False):
    """A thread's activity during an event.

    eager: the current eager op. op: the event is an op, not a part of an op. sticks: events inside this event
    cannot change its phase.
    """

    phase: str | None = None
    key: Key | None = None
    eager: str = ""
    op: bool = False
    sticks: bool = False


def meaning(event: XEvent, around: Meaning) -> Meaning:
    """Return the meaning of a host event. An event with an unknown name has the meaning `around` of the event
    that contains it.
    """
    if around.sticks:
        return around
    named = _classify_mark(event) or _op(event, around)
    if named is not None:
        return named
    name = event.name
    if name.startswith(_EAGER):
        phase: Phase = "input" if around.phase == "input" else "dispatch"
        return Meaning(phase, eager=name.removeprefix(_EAGER))
    if name in _RUNS and around.eager:
        return _eager_kernel(around.eager)
    if name.startswith(_PIPELINE) or around.phase == "input":
        return Meaning("input", around.key)
    if name.startswith(_DISPATCH) or "tf_function_call" in event.stats:
        return Meaning("dispatch", eager=around.eager)
    if name == _PROGRAM:
        return Meaning(PROGRAM)
    if name.startswith(_RUNTIME):
        return Meaning("scheduling")
    return Meaning(around.phase, around.key, around.eager)


def _classify_mark(event: XEvent) -> Meaning | None:
    if event.name == CALL:
        return Meaning("python")
    if event.name.startswith(MARK):
        return Meaning(event.name.removeprefix(MARK), sticks=True)
    return Meaning("sync", sticks=True) if event.name == SYNC else None


def _op(event: XEvent, around: Meaning) -> Meaning | None:
    name = event.name
    if event.op and _FUNCTION.match(event.op):
        return Meaning("dispatch")  # this op launches a compiled program
    if event.op:
        op, node = plain(event.op), name.removesuffix(":" + event.op)
        key = Key(op, node, HOST)
        if op in ITERATORS:
            return Meaning("input", key, op=True)
        return Meaning("copy" if op in SENDS | RECEIVES else "compute", key, op=True)
    hlo = event.stats.get("hlo_op")
    if hlo and not name.startswith("end: "):
        return Meaning("compute", hlo_key(str(hlo), HOST), op=True)
    if name.startswith("_Send input"):
        return Meaning("copy", Key("copy", around.eager or "input", HOST), op=True)
    return None


def _eager_kernel(op: str) -> Meaning:
    if _FUNCTION.match(op):
        return Meaning("scheduling")
    phase: Phase = "input" if op in ITERATORS else "compute"
    return Meaning(phase, Key(op, op, HOST), op=True)


def hlo_key(hlo: str, device: str) -> Key:
    """Return the table row for an XLA instruction: `rfft.7` → `hlo rfft`."""
    return Key("hlo " + re.sub(r"[.\d]+$", "", hlo), hlo, device)


def device_meaning(event: XEvent, device: str, launched_by: Key | None) -> Meaning:
    """Return the meaning of an event in a GPU stream: a kernel or a copy, with the op that launched it.

    The names of statistics and copies come from the profiler's source and from recordings with NVIDIA and AMD
    GPUs.
    """
    if _COPIES.match(event.name):
        return Meaning("copy", Key(event.name, launched_by.name if launched_by else "", device), op=True)
    if hlo := event.stats.get("hlo_op"):
        return Meaning("compute", hlo_key(str(hlo), device), op=True)
    if launched_by is not None:
        return Meaning("compute", Key(launched_by.op, launched_by.name, device), op=True)
    node, _, op = str(event.stats.get("tf_op", "")).rpartition(":")
    return Meaning("compute", Key(plain(op) or event.name, node or event.name, device), op=True)
