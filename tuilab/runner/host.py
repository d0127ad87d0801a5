"""The interface of everything that measures: one worker, the workers of a host, or those of several hosts."""

from collections.abc import Callable
from typing import Protocol

from tuilab.model.events import Event
from tuilab.model.machine import Machine
from tuilab.model.requests import Measure, Request

Listener = Callable[[Event], None]


class HostRunner(Protocol):
    """The workers of one host: a `Supervisor`, or several behind the same interface."""

    @property
    def machine(self) -> Machine | None:
        """The host's machine; None until a worker has been ready."""

    async def start(self) -> None:
        """Start a worker if there is none. Raises OSError if it cannot be started."""

    async def send(self, request: Request) -> None:
        """Forward a request."""

    async def measure(self, request: Measure) -> None:
        """Queue a run."""

    async def renew(self) -> None:
        """End the workers, so that the next request runs in fresh processes."""

    async def cancel(self, run: str) -> None:
        """Stop a run."""

    async def close(self) -> None:
        """End the workers."""

    def kill_now(self) -> None:
        """Kill the workers without waiting."""
