"""JSON messages between a node of a fleet and its director."""

import msgspec

from tuilab.model.machine import Machine
from tuilab.model.requests import Measure

RESOURCE = "tuilab"
"""The Dask resource of a node; each node has one, so it measures one thing at a time."""


class Greeting(msgspec.Struct, frozen=True, kw_only=True):
    """A node's first answer. problem: why it cannot measure; empty if it can."""

    protocol: int
    tuilab: str
    machine: Machine | None = None
    problem: str = ""


class JobResult(msgspec.Struct, frozen=True, kw_only=True):
    """One cell's measurement. events: JSON lines from the node's worker.

    began, ended: seconds on the node's own clock, which need not agree with any other.
    """

    began: float
    ended: float
    events: tuple[msgspec.Raw, ...]


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """A job for a node: a run, and the topic for progress messages.

    taken: that node's runs that are saved by now, so it can delete them.
    """

    request: Measure
    topic: str
    taken: tuple[str, ...] = ()
