"""Runs the lab for the commands that measure: opens and closes it, and handles Ctrl-C."""

import asyncio
import signal
import sqlite3
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

from tuilab.cli.choose import quiet
from tuilab.cli.environment import chosen_environment
from tuilab.cli.exits import unkept
from tuilab.cli.narrate import Narrator
from tuilab.cli.said import tell
from tuilab.lab import Lab
from tuilab.lab.files import keep_fault
from tuilab.lab.history import History, to_read
from tuilab.model.arms import HERE
from tuilab.model.environment import Environment
from tuilab.model.sanitize import sanitize_line

T = TypeVar("T")


class Stoppable(Protocol):
    def stop(self) -> object:
        """Stop the task; return False if it is not running."""


def with_lab(
    act: Callable[[Lab], Awaitable[T]],
    hosts: Sequence[str] = (HERE,),
    environments: Sequence[Environment] = (),
    forks: bool = False,
    scope: str = "",
) -> T:
    """Open the lab, await `act(lab)`, and close the lab. Raises the errors of `act`, and KeyboardInterrupt if
    Ctrl-C is pressed while no task of the lab is running.

    environments: further Python environments on this machine, which `hosts` names. forks: the command
    measures in forked processes. scope: the files that the first worker may open.
    """
    own = chosen_environment()
    every = (own, *environments) if own is not None else environments

    async def main() -> T:
        faults: list[BaseException] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, about: note(about, faults))
        lab = Lab(hosts=hosts, environments=every, say=tell, forks=forks, scope=scope)
        narrator = Narrator(quiet(), lambda: first_answer(lab))
        lab.subscribe(lambda _, event: narrator(event) if event is not None else None)
        async with lab:
            done = await act_stoppably(lab, act(lab))
        if lab.saved.in_no_history:
            unkept.append(lab.state.unkept)
        for fault in faults[:1]:
            tell(keep_fault(fault))
        return done

    return asyncio.run(main())


def first_answer(lab: Lab) -> str:
    result = lab.state.result()
    measured = result is not None and any(arm.median_s is not None for arm in result.arms)
    return result.answer if result is not None and measured else ""


def note(about: dict[str, Any], faults: list[BaseException]) -> None:
    """Append a task's unhandled exception to `faults`. Ignores an OSError, because it comes from a closed
    output.
    """
    fault = about.get("exception")
    if isinstance(fault, Exception) and not isinstance(fault, OSError):
        faults.append(fault)


async def act_stoppably(what: Stoppable, acting: Awaitable[T]) -> T:
    """Await `acting` and return its result. Ctrl-C calls `what.stop()`, which lets `acting` end early. If
    `what` is not running, Ctrl-C cancels `acting`.

    Raises KeyboardInterrupt if `acting` was cancelled.
    """
    task = asyncio.ensure_future(acting)
    loop = asyncio.get_running_loop()

    def interrupted() -> None:
        if what.stop() is False:
            task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # keep ignored signals ignored, as under nohup
            loop.add_signal_handler(number, interrupted)
    try:
        return await task
    except asyncio.CancelledError:
        tell("stopped before a run began")
        raise KeyboardInterrupt from None


def _collect(history: History) -> None:
    try:
        found = history.unattended()
    except OSError:  # a read-only history accepts no new runs
        return
    except sqlite3.Error as error:
        tell(f"cannot add the background runs to the history ({error})")
        return
    if found is None:
        return
    for run in found.finished:
        if words := history.outcome(run):
            tell(f"{words}, as {run[:8]}")
    for run in (*found.going_on, *found.elsewhere):
        tell(f"run {run[:8]} is still running in the background")
    for problem in found.problems:
        tell(problem)


@contextmanager
def open_history(collect: bool = True) -> Iterator[History]:
    """Open the history without workers, print its messages to standard error, and close it at the end. Works
    with a read-only history.

    collect: import runs that finished after their lab had been closed.
    """
    lab = Lab(say=tell, store=to_read)
    history = lab.history
    for message in history.messages:
        tell(message)
    if collect:
        _collect(history)
    try:
        yield history
    finally:
        for run, what in history.unread.items():
            tell(f"run {sanitize_line(run[:8])}: {what}; `tuilab history check` lists all damage")
        lab.saved.close()
