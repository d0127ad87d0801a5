"""Chooses the GPUs that this process opens, and translates their names.

A GPU context takes memory and time, and other people may be using the GPU. So the process opens only the GPUs
that a run needs: the first GPU, until a run asks for others. TensorFlow cannot open another GPU later, or
continue after a GPU failed to open. In these cases the process replaces itself and keeps its process id and
pipes.
"""

import os
import re
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

import msgspec

from tuilab.model.errors import InputError
from tuilab.model.machine import OPEN_GPUS
from tuilab.model.requests import Measure, Request, encode
from tuilab.worker.channel import Channel

FAILED = "TUILAB_GPUS_FAILED"
WHY = "TUILAB_GPUS_WHY"
"""Environment variable that holds the reason why GPUs failed to open before the process replaced itself."""
REQUESTS = "TUILAB_REQUESTS"
"""Environment variable with the file descriptor from which the replacement process reads the pending
requests.
"""

_ASKED = re.compile(rb'"device":"GPU:(\d+)"')
_NAMED = re.compile(rb"\bGPU:(\d+)\b|\bgpu(\d+)(?=\.(?:eager|graph|xla)\b)")


@dataclass(frozen=True)
class Gpus:
    """The GPUs that this process opened or failed to open, by the machine's indices.

    opened: the GPUs of this process, in TensorFlow's order. failed: GPUs that could not be opened and are not
    tried again. why: the reason for the failure. count: number of the machine's GPUs.
    """

    opened: tuple[int, ...] = (0,)
    failed: tuple[int, ...] = ()
    why: str = ""
    count: int = 0

    @classmethod
    def wanted(cls, environment: Mapping[str, str]) -> "Gpus":
        return cls(
            _numbers(environment.get(OPEN_GPUS, "0")),
            _numbers(environment.get(FAILED, "")),
            environment.get(WHY, ""),
        )

    def among(self, count: int) -> "Gpus":
        usable = [n for n in self.opened if n < count and n not in self.failed]
        return Gpus(tuple(usable), self.failed, self.why, count)

    def lacks(self, asked: Iterable[int]) -> tuple[int, ...]:
        """Return the GPUs that a replacement process must open for the request; () if they are all open
        already.
        """
        wanted = {n for n in asked if n < self.count and n not in self.failed}
        return tuple(sorted(wanted)) if not wanted <= set(self.opened) else ()

    @property
    def order(self) -> tuple[int, ...]:
        return (*self.opened, *(n for n in range(self.count) if n not in self.opened))


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(dict.fromkeys(int(word) for word in text.split(",") if word.strip().isdigit()))


class Names:
    """Translates the GPU names in protocol lines (`GPU:0`, `gpu0.graph…`) between this process and the
    machine.
    """

    def __init__(self, order: Sequence[int]) -> None:
        self._out = {inside: number for inside, number in enumerate(order) if inside != number}
        self._in = {number: inside for inside, number in self._out.items()}

    def outward(self, line: bytes) -> bytes:
        return _renamed(line, self._out)

    def inward(self, line: bytes) -> bytes:
        return _renamed(line, self._in)


def _renamed(line: bytes, numbers: Mapping[int, int]) -> bytes:
    if not numbers:
        return line

    def name(match: re.Match[bytes]) -> bytes:
        family, number = (b"GPU:", match[1]) if match[1] else (b"gpu", match[2])
        return family + str(numbers.get(int(number), int(number))).encode()

    return _NAMED.sub(name, line)


def requested_gpus(request: Request, gpus: Gpus) -> set[int]:
    """Return the GPUs that a request names or that its workload uses, by the machine's indices."""
    if isinstance(request, Measure):
        # If the roofs (hardware limits) are already known, the GPU need not be opened.
        request = msgspec.structs.replace(request, roofs=None)
    inside = {int(match) for match in _ASKED.findall(encode(request))}
    numbers = {gpus.order[n] if n < gpus.count else n for n in inside}
    if isinstance(request, Measure) and numbers and not request.scenario.file:
        numbers |= set(range(_replicas(request)))
    return numbers


def _replicas(request: Measure) -> int:
    from tuilab.workloads import find

    try:
        declared = find(request.scenario.workload).declaration
    except InputError:
        return 0  # the request's handler reports the error
    parameter = declared.parameter(declared.replicas)
    if parameter is None:
        return 0
    return int(request.scenario.parameters.get(parameter.name, parameter.default))


def replace_process(
    channel: Channel, opened: Sequence[int], failed: Sequence[int], why: str, pending: Iterable[bytes]
) -> NoReturn:
    """Replace this process with a new one that opens these GPUs.

    pending: request lines for the new process, with the machine's device names.
    """
    environment = {
        **os.environ,
        OPEN_GPUS: ",".join(map(str, opened)),
        FAILED: ",".join(map(str, failed)),
        WHY: why,
        REQUESTS: "3",
    }
    with tempfile.TemporaryFile() as kept:
        kept.writelines(pending)
        kept.flush()
        kept.seek(0)
        channel.give_back(kept.fileno(), 3)
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)


def asked_before() -> list[bytes] | None:
    """Return the request lines from `replace_process`; None if this process did not replace another."""
    descriptor = os.environ.pop(REQUESTS, "")
    if not descriptor:
        return None
    with os.fdopen(int(descriptor), "rb") as kept:
        return kept.readlines()
