"""What the spreading of cells asks of anyone who reaches the nodes: Dask, or a stand-in for tests."""

from collections.abc import Callable, Mapping
from typing import Protocol

import msgspec

from tuilab.fleet.messages import Greeting, JobResult, Task


class NodeLost(Exception):
    """The node has gone, or what it was doing has."""


class NodeUnfit(Exception):
    """The node cannot measure, for the reason that the message gives."""


class Address(msgspec.Struct, frozen=True, kw_only=True):
    """A node as the scheduler knows it. place: its address. name: as a user may have named it."""

    place: str
    name: str = ""


class Grid(Protocol):
    """The nodes within reach."""

    async def nodes(self) -> Mapping[str, Address]:
        """Return the nodes that may measure now, by their place."""

    async def greet(self, node: Address) -> Greeting:
        """Start the node's worker and hear what it is. Raises NodeLost or NodeUnfit."""

    async def measure(self, node: Address, task: Task) -> JobResult:
        """Measure there; returns at the end. Raises NodeLost or NodeUnfit."""

    async def stop(self) -> None:
        """Have every node stop what it measures: the visits end soon, with what they have."""

    def on_progress(self, topic: str, listen: Callable[[str, str], None]) -> None:
        """Call back with a run's id and a few words whenever a node says how it goes."""

    async def close(self) -> None:
        """End the nodes' workers, and the nodes themselves if they were started for this."""
