"""The interface through which the lab uses a runner."""

from collections.abc import Callable, Mapping
from typing import Protocol

from tuilab.model.events import Event
from tuilab.model.machine import Machine
from tuilab.model.requests import Measure, Request


class Runner(Protocol):
    """Sends requests to the workers. `MultiHostRunner` implements it; tests use scripted runners."""

    @property
    def machine(self) -> Machine | None:
        """The machine of the worker; None until the worker has reported it."""

    @property
    def machines(self) -> Mapping[str, Machine]:
        """The machines of all hosts whose worker has been ready, by host name; "" is this machine."""

    async def start(self) -> None:
        """Start the workers without waiting for them."""

    def add(self, host: str) -> object:
        """Add a host, whose worker starts at the next call of `start`."""

    async def send(self, request: Request) -> None:
        """Send a request."""

    async def measure(self, request: Measure) -> None:
        """Queue a run."""

    async def renew(self) -> None:
        """End the workers, so that the next request runs in fresh processes."""

    async def cancel(self, run: str) -> None:
        """Stop a run."""

    async def close(self) -> None:
        """End the worker."""

    def kill_now(self) -> None:
        """Kill the worker without waiting."""


RunnerFactory = Callable[[Callable[[Event], None]], Runner]
