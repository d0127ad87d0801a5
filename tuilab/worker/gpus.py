"""Which of the machine's GPUs this process opens, and what it calls them.

A context on a GPU takes memory and time, and other people's work lies next to it, so that only the GPUs are
opened that a run asks for: the first, until one asks for others. TensorFlow cannot open another later, nor go
on after one could not be opened, so the process then replaces itself: same process id, same pipes.
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
"""Which could not be opened by this process before it replaced itself, and what was said."""
REQUESTS = "TUILAB_REQUESTS"
"""The file descriptor from which a process that replaced itself reads what was asked of it before."""

_ASKED = re.compile(rb'"device":"GPU:(\d+)"')
_NAMED = re.compile(rb"\bGPU:(\d+)\b|\bgpu(\d+)(?=\.(?:eager|graph|xla)\b)")


@dataclass(frozen=True)
class Gpus:
    """Numbers as the machine counts them.

    opened: in TensorFlow's order here. failed: not to be tried again, for the reason `why`. count: how many
    there are.
    """

    opened: tuple[int, ...] = (0,)
    failed: tuple[int, ...] = ()
    why: str = ""
    count: int = 0

    @classmethod
    def wanted(cls, environment: Mapping[str, str]) -> "Gpus":
        """Return what the environment says."""
        return cls(
            _numbers(environment.get(OPEN_GPUS, "0")),
            _numbers(environment.get(FAILED, "")),
            environment.get(WHY, ""),
        )

    def among(self, count: int) -> "Gpus":
        """Return the GPUs that exist where the machine has `count`."""
        usable = [n for n in self.opened if n < count and n not in self.failed]
        return Gpus(tuple(usable), self.failed, self.why, count)

    def lacks(self, asked: Iterable[int]) -> tuple[int, ...]:
        """Return what to open instead for a request that asks for these; empty if nothing is to change."""
        wanted = {n for n in asked if n < self.count and n not in self.failed}
        return tuple(sorted(wanted)) if not wanted <= set(self.opened) else ()

    @property
    def order(self) -> tuple[int, ...]:
        """The machine's numbers in the order of this process's: the opened ones first."""
        return (*self.opened, *(n for n in range(self.count) if n not in self.opened))


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(dict.fromkeys(int(word) for word in text.split(",") if word.strip().isdigit()))


class Names:
    """Turns this process's names of GPUs (`GPU:0`, `gpu0.graph…`) into the machine's and back, in lines."""

    def __init__(self, order: Sequence[int]) -> None:
        self._out = {inside: number for inside, number in enumerate(order) if inside != number}
        self._in = {number: inside for inside, number in self._out.items()}

    def outward(self, line: bytes) -> bytes:
        """Return a line of this process for the other side."""
        return _renamed(line, self._out)

    def inward(self, line: bytes) -> bytes:
        """Return a line of the other side for this process."""
        return _renamed(line, self._in)


def _renamed(line: bytes, numbers: Mapping[int, int]) -> bytes:
    if not numbers:
        return line

    def name(match: re.Match[bytes]) -> bytes:
        family, number = (b"GPU:", match[1]) if match[1] else (b"gpu", match[2])
        return family + str(numbers.get(int(number), int(number))).encode()

    return _NAMED.sub(name, line)


def asked(request: Request, gpus: Gpus) -> set[int]:
    """Return the GPUs, by the machine's numbers, that a request names or over which its workload spreads."""
    if isinstance(request, Measure):
        request = msgspec.structs.replace(request, roofs=None)  # what is known of a GPU asks for none
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
        return 0  # anyone who carries it out will say so
    parameter = declared.parameter(declared.replicas)
    if parameter is None:
        return 0
    return int(request.scenario.parameters.get(parameter.name, parameter.default))


def replace_process(
    channel: Channel, opened: Sequence[int], failed: Sequence[int], why: str, pending: Iterable[bytes]
) -> NoReturn:
    """Begin again as this process with these GPUs.

    pending: lines by the machine's names, to be carried out then.
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
    """Return the lines that `replace_process` kept; None in a process that replaced none."""
    descriptor = os.environ.pop(REQUESTS, "")
    if not descriptor:
        return None
    with os.fdopen(int(descriptor), "rb") as kept:
        return kept.readlines()
