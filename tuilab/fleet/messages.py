"""JSON messages between a node of a fleet and the process that directs the fleet."""

import msgspec

from tuilab.model.machine import Machine
from tuilab.model.requests import Measure

RESOURCE = "tuilab"
"""The Dask resource that marks a node. Each node has one unit of this resource, so it measures one job at a
time.
"""


class Greeting(msgspec.Struct, frozen=True, kw_only=True):
    """The first message from a node. problem: why the node cannot measure; "" if it can."""

    protocol: int
    tuilab: str
    machine: Machine | None = None
    problem: str = ""


class JobResult(msgspec.Struct, frozen=True, kw_only=True):
    began: float
    ended: float
    events: tuple[msgspec.Raw, ...]


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """A job for a node: a run, and the topic for progress messages.

    taken: ids of runs on this node that the client has saved, so the node can delete them.
    """

    request: Measure
    topic: str
    taken: tuple[str, ...] = ()
