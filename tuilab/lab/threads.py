"""Runs calls in daemon threads, so that the lab can exit without waiting for them."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def run_in_daemon_thread(call: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a call in a daemon thread and return its result. Raises the errors of the call.

    `asyncio.to_thread` would make asyncio join the thread at exit.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def settle(result: Any, error: BaseException | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)

    def run() -> None:
        result, error = None, None
        try:
            result = call(*args, **kwargs)
        except BaseException as raised:
            error = raised
        try:
            loop.call_soon_threadsafe(settle, result, error)
        except RuntimeError:
            pass  # the lab has ended

    threading.Thread(target=run, daemon=True, name=f"tuilab-{getattr(call, '__name__', 'call')}").start()
    found: T = await future
    return found
