"""The interface through which the scheduler reaches nodes: Dask, or a substitute in tests."""

from collections.abc import Callable, Mapping
from typing import Protocol

import msgspec

from tuilab.fleet.messages import Greeting, JobResult, Task


class NodeLost(Exception):
    """Raised if a node or its task is lost."""


class NodeUnfit(Exception):
    """Raised if a node cannot measure; the message gives the reason."""


class Address(msgspec.Struct, frozen=True, kw_only=True):
    """A node of the cluster. place: its network address. name: the name set by the user, if any."""

    place: str
    name: str = ""


class Grid(Protocol):
    async def nodes(self) -> Mapping[str, Address]:
        """Return the nodes that may measure now, by network address (`Address.place`)."""

    async def greet(self, node: Address) -> Greeting:
        """Start the node's worker and return its greeting. Raises NodeLost or NodeUnfit."""

    async def measure(self, node: Address, task: Task) -> JobResult:
        """Measure a job on a node and return the result. Raises NodeLost or NodeUnfit."""

    async def stop(self) -> None:
        """Stop every node. A stopped job ends soon and returns the data measured so far."""

    def on_progress(self, topic: str, listen: Callable[[str, str], None]) -> None:
        """Call `listen` with a run's id and a short status whenever a node reports progress."""

    async def close(self) -> None:
        """End the workers on the nodes, and the nodes that were started for this grid."""
