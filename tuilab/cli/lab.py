"""The lab as commands use it: its events narrated, Ctrl-C obeyed."""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

import click
import msgspec

from tuilab.cli.choose import quiet
from tuilab.cli.narrate import Narrator
from tuilab.lab import Lab
from tuilab.lab.history import Store
from tuilab.model.arms import HERE

T = TypeVar("T")


class Stoppable(Protocol):
    """What Ctrl-C stops."""

    def stop(self) -> object:
        """False where there is nothing to stop."""


def tell(text: str) -> None:
    """Say it on standard error."""
    click.echo(f"tuilab: {text}", err=True)


def emit(data: Any) -> None:
    """Print the one object of `--json` to standard output."""
    click.echo(msgspec.json.format(msgspec.json.encode(data), indent=2).decode())


def with_lab(act: Callable[[Lab], Awaitable[T]], hosts: Sequence[str] = (HERE,)) -> T:
    """Open the lab, act, close it. Raises as `act`, and KeyboardInterrupt where nothing could be stopped."""

    async def main() -> T:
        narrator = Narrator(quiet())
        lab = Lab(hosts=hosts, say=tell)
        lab.subscribe(lambda _, event: narrator(event) if event is not None else None)
        async with lab:
            return await act_stoppably(lab, act(lab))

    return asyncio.run(main())


async def act_stoppably(what: Stoppable, acting: Awaitable[T]) -> T:
    """Await it; Ctrl-C stops what goes on, or all of it where nothing does. Raises KeyboardInterrupt."""
    task = asyncio.ensure_future(acting)
    loop = asyncio.get_running_loop()

    def interrupted() -> None:
        if what.stop() is False:
            task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # as under nohup
            loop.add_signal_handler(number, interrupted)
    try:
        return await task
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


@contextmanager
def store() -> Iterator[Store]:
    """The store of runs, its messages said on standard error, closed at the end."""
    opened = Store.open()
    for message in opened.messages:
        tell(message)
    try:
        yield opened
    finally:
        opened.close()
