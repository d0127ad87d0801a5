"""The interface through which the lab uses a runner."""

from collections.abc import Callable, Mapping
from typing import Protocol

from tuilab.model.machine import Machine
from tuilab.runner.host import HostRunner, Listener


class Runner(HostRunner, Protocol):
    """The workers of all hosts. `MultiHostRunner` implements it; tests use scripted runners."""

    @property
    def machines(self) -> Mapping[str, Machine]:
        """The machines of all hosts whose worker has been ready, by host name; "" is this machine."""

    def add(self, host: str) -> object:
        """Add a host, whose worker starts at the next call of `start`."""


RunnerFactory = Callable[[Listener], Runner]
