"""What a node of a fleet and the side that directs it tell each other, as JSON."""

import msgspec

from tuilab.model.machine import Machine
from tuilab.model.requests import Measure

RESOURCE = "tuilab"
"""The Dask resource of which a node has one, so that it measures one thing at a time."""


class Greeting(msgspec.Struct, frozen=True, kw_only=True):
    """A node's first answer. problem: why it cannot measure; empty if it can."""

    protocol: int
    tuilab: str
    machine: Machine | None = None
    problem: str = ""


class JobResult(msgspec.Struct, frozen=True, kw_only=True):
    """One cell's measurement. events: JSON lines as the node's worker said them.

    began, ended: seconds of the node's own clock; no other clock is assumed to agree with it.
    """

    began: float
    ended: float
    events: tuple[msgspec.Raw, ...]


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """What a node is sent: a run of its own, and the topic under which to say how it goes.

    taken: runs of that node's that are recorded by now, so that it need not keep them any more.
    """

    request: Measure
    topic: str
    taken: tuple[str, ...] = ()
