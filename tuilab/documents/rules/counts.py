"""Rules that compare the divisor of a measured time with the number of timed iterations."""

import ast
import re
from collections import Counter
from collections.abc import Iterator

from tuilab.documents.example import Example
from tuilab.documents.interpreter.trace import Loop, Region
from tuilab.documents.rules.rule import Hit, rule
from tuilab.documents.timing import Timing

# Smallest relative error in the count that makes the result noticeably wrong.
_SHOWS = 0.02


@rule("TL116", "Divided by the wrong count", "warning")
def another_count(example: Example) -> Iterator[Hit]:
    """A time is divided by one more or one fewer than its number of iterations.

    Why: The mean is off by a factor of n / (n ± 1).

    Instead: Divide by the number of iterations in the total: len(times), or the loop's own count.

    Wrong:
        n = 10
        tf.matmul(x, y).numpy()
        t = time.perf_counter()
        for i in range(1, n):
            tf.matmul(x, y).numpy()
        print((time.perf_counter() - t) / n)

    Right:
        n = 10
        tf.matmul(x, y).numpy()
        t = time.perf_counter()
        for i in range(n):
            tf.matmul(x, y).numpy()
        print((time.perf_counter() - t) / n)
    """
    for timing in example.timings:
        region = timing.region
        # If another time is subtracted, it may be the time of one iteration, so a count lower by one may be
        # right.
        loop = _counted_loop(timing) if region.by and not region.beside else None
        if loop is None:
            continue
        ran = _iterations(example, region, loop)
        for divisor in region.by:
            more = _constant(ran, _linear(_parsed(divisor))) if ran is not None else None
            if more in (1, -1):
                # A loop is unrolled only if it has few iterations.
                few = loop.unrolled or (loop.count is not None and loop.count * _SHOWS <= 1)
                which = "more" if more == 1 else "fewer"
                yield Hit(
                    loop.line,
                    f"the time is divided by {divisor}, but the timed loop runs one iteration {which}",
                    timing=timing,
                    severity=None if few else "note",
                )
                break


def _counted_loop(timing: Timing) -> Loop | None:
    """Return the loop whose iterations the time covers: the only loop inside the timed region, or the loop
    that sums the times.
    """
    around = timing.begins.loops
    if timing.region.gathered and around:
        return around[-1]
    inside = [
        event.place.loops[len(around)]
        for event in timing.events
        if len(event.place.loops) > len(around) and event.place.loops[: len(around)] == around
    ]
    return inside[0] if inside and all(loop.line == inside[0].line for loop in inside) else None


# A count as a sum: the coefficient of each term, by name. The key of the constant is "".
Sum = Counter[str]


def _iterations(example: Example, region: Region, loop: Loop) -> Sum | None:
    """Return the number of timed iterations of a `range` loop, as a sum of terms; None if the code does not
    show the number.
    """
    lines = "\n".join(example.text(n) for n in range(loop.line, min(loop.last_line, loop.line + 60) + 1))
    head = _FOR.match(example.text(loop.line))
    spread = _parsed(head["over"]) if head is not None else None
    if head is None or spread is None or re.search(r"\b(?:break|continue|return)\b", lines):
        return None
    call = next((part for part in ast.walk(spread) if _is_range(part)), None)
    if not isinstance(call, ast.Call) or len(call.args) not in (1, 2):
        return None
    count = _linear(call.args[-1])
    if len(call.args) == 2:
        count.subtract(_linear(call.args[0]))
    if region.picked:
        taken = re.search(rf"\bif {head['name']} (?P<sign>>=?) (?P<from>[\w.]+):", lines)
        if taken is None:
            return None
        count.subtract(_linear(_parsed(taken["from"])))
        count[""] -= taken["sign"] == ">"
    return count


_FOR = re.compile(r"\s*for (?P<name>\w+) in (?P<over>[^#]{1,200}):\s*(?:#.*)?$")


def _is_range(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("range", "xrange")
    )


def _parsed(text: str) -> ast.expr | None:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _linear(node: ast.expr | None) -> Sum:
    """Return a sum as coefficients, keyed by the source text of each term."""
    match node:
        case ast.Constant(value=int(number)):
            return Counter({"": number})
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
            total = _linear(left)
            (total.update if isinstance(op, ast.Add) else total.subtract)(_linear(right))
            return total
        case None:
            return Counter({"?": 1})
        case _:
            return Counter({ast.unparse(node): 1})


def _constant(one: Sum, other: Sum) -> int | None:
    apart = Counter(one)
    apart.subtract(other)
    number = apart.pop("", 0)
    return None if any(apart.values()) else number
