"""What runs the lab's measurements, as the lab asks it."""

from collections.abc import Callable, Mapping
from typing import Protocol

from tuilab.model.events import Event
from tuilab.model.machine import Machine
from tuilab.model.requests import Measure, Request


class Runner(Protocol):
    """What the lab asks of anyone who runs its measurements: a `MultiHostRunner`, or a test's script."""

    @property
    def machine(self) -> Machine | None:
        """The worker's machine, once it has said so."""

    @property
    def machines(self) -> Mapping[str, Machine]:
        """The machine of each host that has been ready; this one's name is ""."""

    @property
    def busy(self) -> bool:
        """Whether a request is under way or waiting."""

    async def start(self) -> None:
        """Start a worker; returns at once."""

    def add(self, host: str) -> object:
        """Have a worker on another host too, from the next `start` on."""

    async def send(self, request: Request) -> None:
        """Pass a request on."""

    async def measure(self, request: Measure) -> None:
        """Queue a run."""

    async def cancel(self, run: str) -> None:
        """Stop a run."""

    async def close(self) -> None:
        """End the worker."""

    def kill_now(self) -> None:
        """End the worker without waiting."""


RunnerFactory = Callable[[Callable[[Event], None]], Runner]
