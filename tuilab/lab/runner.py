"""The runner's interface, as the lab uses it."""

from collections.abc import Callable, Mapping
from typing import Protocol

from tuilab.model.events import Event
from tuilab.model.machine import Machine
from tuilab.model.requests import Measure, Request


class Runner(Protocol):
    """The interface of a runner: a `MultiHostRunner`, or a test's script."""

    @property
    def machine(self) -> Machine | None:
        """The worker's machine, once reported."""

    @property
    def machines(self) -> Mapping[str, Machine]:
        """The machine of each host that has been ready; this machine's name is ""."""

    @property
    def busy(self) -> bool:
        """True if a request is active or queued."""

    async def start(self) -> None:
        """Start a worker. Does not wait."""

    def add(self, host: str) -> object:
        """Also use a worker on another host, from the next `start` on."""

    async def send(self, request: Request) -> None:
        """Forward a request."""

    async def measure(self, request: Measure) -> None:
        """Queue a run."""

    async def cancel(self, run: str) -> None:
        """Stop a run."""

    async def close(self) -> None:
        """End the worker."""

    def kill_now(self) -> None:
        """End the worker without waiting."""


RunnerFactory = Callable[[Callable[[Event], None]], Runner]
