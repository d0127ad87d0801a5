"""Observes calls to tf.functions: their start and end, their arguments, and their traces."""

from __future__ import annotations

import weakref

from .own import Own
from .places import is_own, site

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .account import Account
    from .calls import Calls
    from .process import Key, Process

MOST_CALLS, MOST_FUNCTIONS, MOST_DESCRIBED, MOST_SHAPES = 200_000, 2_000, 12, 10_000
FEW = 3


class Functions:
    """The tf.functions that the program has called. Its methods are called from the program's threads.

    The keys of all dicts are function numbers. calls: the calls since the last message. totals: number of
    calls, and seconds of calls that did not trace. remade: for functions that are recreated every call or
    two, how often they were created. fed: number of calls with NumPy arrays, and bytes of these arrays.
    traced: traces since the last message. compiled: number of calls that passed new shapes to XLA, and their
    seconds. in_call: the current call.
    """

    def __init__(self, process: Process, calls: Calls, account: Account) -> None:
        self.process = process
        self.calls: list[tuple[Key, float, float, bool]] = []
        self.latest = -1
        self.known: dict[int, weakref.ref[Any]] = {}
        self.codes: dict[Any, Any] = {}
        self.totals: dict[int, tuple[int, float]] = {}
        self.remade: dict[int, int] = {}
        self.fed: dict[int, tuple[int, int]] = {}
        self.traced: dict[int, list[tuple[float, list[list[Any]] | None]]] = {}
        self.compiled: dict[int, tuple[int, float]] = {}
        self.in_call: int | None = None
        self._new_shapes = False
        self._numbers: dict[int, int] = {}
        self._calls, self._account = calls, account
        self._xla: dict[int, set[Any]] = {}
        self._codes: dict[Any, tuple[list[int], list[int]]] = {}

    def enter(self, function: Any, arguments: Any) -> int:
        """Record the start of an outermost tf.function call; return the function's number."""
        key = id(function)
        number = self._numbers.get(key)
        if number is None or self.known[number]() is not function:
            number = self._numbers[key] = self._new(function)
        self.in_call = number
        self._account.enter()
        self.process.mark(number)
        self._calls.function(Own.frame(1))
        items = flat(arguments)
        self._count_arrays(number, items)
        self._new_shapes = number in self._xla and self._brings_shapes(number, items)
        return number

    def leave(
        self, number: int, start: float, end: float, traced: bool, described: list[list[Any]] | None
    ) -> None:
        self.in_call, self.latest = None, number
        if Own.thread() == self._account.main:
            by_xla = self._new_shapes or (traced and number in self._xla)
            self._account.leave("compiling" if by_xla else "tracing" if traced else "")
        if len(self.calls) < MOST_CALLS:
            self.calls.append((number, start, end, traced))
        called, spent = self.totals.get(number, (0, 0.0))
        if not called:
            self.process.stepping()
        if self._new_shapes:
            self._new_shapes = False
            compiled, before = self.compiled.get(number, (0, 0.0))
            self.compiled[number] = compiled + 1, before + end - start
        self.totals[number] = called + 1, spent + (0.0 if traced else end - start)
        if traced:
            self.traced.setdefault(number, []).append((end - start, described))

    def _new(self, function: Any) -> int:
        number = len(self.known)
        python = getattr(function, "_python_function", None)
        while hasattr(python, "__wrapped__") or hasattr(python, "func"):
            python = getattr(python, "__wrapped__", None) or getattr(python, "func", None)
        code = getattr(python, "__code__", None)
        self.codes[number] = code
        alike, made = self._codes.setdefault(code, ([], [0]))
        made[0] += 1
        called = sum(self.totals.get(one, (0, 0.0))[0] for one in alike)
        if number >= MOST_FUNCTIONS or (code and made[0] > FEW and called <= 2 * made[0]):
            # The program recreates this function every call or two, so count the new function as the one that
            # was reported last.
            number = alike[-1] if alike else number - 1
            self.known[number] = weakref.ref(function)
            self.remade[number] = made[0]
            return number
        alike.append(number)
        self.known[number] = weakref.ref(function)
        if getattr(function, "_jit_compile", False):
            self._xla[number] = set()
        caller = site(Own.frame(1))
        name = getattr(python, "__qualname__", "") or getattr(function, "_name", "") or "?"
        self.process.channel.send(
            "function",
            number=number,
            name=name.replace("<locals>.", ""),
            file=code.co_filename if code else "",
            line=code.co_firstlineno if code else 0,
            own=bool(code and is_own(code.co_filename)),
            xla=bool(getattr(function, "_jit_compile", False)),
            caller=caller[:2] if caller else None,
        )
        return number

    def _brings_shapes(self, number: int, items: list[Any]) -> bool:
        """Return True on the function's first call with these shapes: XLA compiles for each new shape, even
        without a new trace.
        """
        key = tuple(str(shape) for item in items if (shape := getattr(item, "shape", None)) is not None)
        known = self._xla[number]
        if key in known or len(known) >= MOST_SHAPES:
            return False
        known.add(key)
        return True

    def _count_arrays(self, number: int, items: list[Any]) -> None:
        """Count the NumPy arrays among the arguments, because every call copies them."""
        size = 0
        for item in items:
            if type(item).__name__ == "ndarray":
                size += item.nbytes
        if size:
            calls, before = self.fed.get(number, (0, 0))
            self.fed[number] = calls + 1, before + size


def flat(arguments: Any) -> list[Any]:
    """Return the arguments of a call and the items of those that are tuples or lists."""
    return [
        item for value in arguments or () for item in (value if type(value) in (tuple, list) else (value,))
    ]


def describe(arguments: Any) -> list[list[Any]]:
    """Return the properties of arguments that can trigger a trace, such as shapes, dtypes and Python
    numbers.
    """
    out: list[list[Any]] = []
    for item in flat(arguments)[:MOST_DESCRIBED]:
        shape, dtype = getattr(item, "shape", None), getattr(item, "dtype", None)
        if shape is not None and dtype is not None:
            try:
                sizes = [None if size is None else int(size) for size in shape]
            except Exception:
                sizes = None
            out.append(["tensor", sizes, getattr(dtype, "name", str(dtype))])
        elif isinstance(item, (bool, int, float)):
            out.append(["number", repr(item)[:40], type(item).__name__])
        elif isinstance(item, str):
            out.append(["text", len(item), "str"])
        elif isinstance(item, dict):
            out.append(["dict", len(item), "dict"])
        else:
            out.append(["object", "%x" % id(item), type(item).__name__])
    return out
