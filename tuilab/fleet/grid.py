"""The interface that the scheduler needs to reach nodes: Dask, or a stand-in for tests."""

from collections.abc import Callable, Mapping
from typing import Protocol

import msgspec

from tuilab.fleet.messages import Greeting, JobResult, Task


class NodeLost(Exception):
    """The node is gone, or its work is."""


class NodeUnfit(Exception):
    """The node cannot measure, for the reason in the message."""


class Address(msgspec.Struct, frozen=True, kw_only=True):
    """A node as the scheduler knows it. place: its address. name: set by the user, if any."""

    place: str
    name: str = ""


class Grid(Protocol):
    """The reachable nodes."""

    async def nodes(self) -> Mapping[str, Address]:
        """Return the nodes that may measure now, by address."""

    async def greet(self, node: Address) -> Greeting:
        """Start the node's worker and return its greeting. Raises NodeLost or NodeUnfit."""

    async def measure(self, node: Address, task: Task) -> JobResult:
        """Measure there and wait for the result. Raises NodeLost or NodeUnfit."""

    async def stop(self) -> None:
        """Stop every node: its job ends soon with the data so far."""

    def on_progress(self, topic: str, listen: Callable[[str, str], None]) -> None:
        """Call back with a run's id and a short status whenever a node reports progress."""

    async def close(self) -> None:
        """End the nodes' workers, and the nodes if they were started for this."""
