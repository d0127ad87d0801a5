"""Defines the interface of a runner, as the lab uses it."""

from collections.abc import Callable, Mapping
from typing import Protocol

from tuilab.model.events import Event
from tuilab.model.machine import Machine
from tuilab.model.requests import Measure, Request


class Runner(Protocol):
    """Sends requests to the workers: a `MultiHostRunner`, or a scripted object in tests."""

    @property
    def machine(self) -> Machine | None:
        """The worker's machine; None until the worker has reported it."""

    @property
    def machines(self) -> Mapping[str, Machine]:
        """The machine of each host whose worker has been ready, by host name; "" is this machine."""

    async def start(self) -> None:
        """Start a worker. Does not wait."""

    def add(self, host: str) -> object:
        """Add a host. Its worker starts with the next `start`."""

    async def send(self, request: Request) -> None:
        """Send a request to the worker."""

    async def measure(self, request: Measure) -> None:
        """Queue a run."""

    async def cancel(self, run: str) -> None:
        """Stop a run."""

    async def close(self) -> None:
        """End the worker."""

    def kill_now(self) -> None:
        """Kill the worker without waiting."""


RunnerFactory = Callable[[Callable[[Event], None]], Runner]
