"""Shares a resource among the arms of a run."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

K = TypeVar("K")
T = TypeVar("T")


@contextmanager
def shared(
    pool: dict[K, tuple[T, int]], key: K, make: Callable[[], T], free: Callable[[T], object]
) -> Iterator[T]:
    """Yield the pool's resource: the first user makes it, and the last user frees it."""
    made, users = pool.get(key) or (make(), 0)
    pool[key] = (made, users + 1)
    try:
        yield made
    finally:
        made, users = pool.pop(key)
        if users > 1:
            pool[key] = (made, users - 1)
        else:
            free(made)
