"""Defines the interface of a runner, as the lab uses it."""

from collections.abc import Callable, Mapping
from typing import Protocol

from tuilab.model.events import Event
from tuilab.model.machine import Machine
from tuilab.model.requests import Measure, Request


class Runner(Protocol):
    """A runner: a `MultiHostRunner`, or a scripted one in a test."""

    @property
    def machine(self) -> Machine | None:
        """The worker's machine; None until the worker has reported it."""

    @property
    def machines(self) -> Mapping[str, Machine]:
        """The machine of each host that has been ready; this machine has the name ""."""

    async def start(self) -> None:
        """Start a worker. Does not wait."""

    def add(self, host: str) -> object:
        """Use a worker on another host too, from the next `start` on."""

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
