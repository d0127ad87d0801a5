"""What a time is said to be of."""

import re
from collections.abc import Iterator

from tuilab.documents.example import Example
from tuilab.documents.rules.regions import regions
from tuilab.documents.rules.rule import Hit, rule

_SECONDS = ("time.time", "time.perf_counter", "time.monotonic", "time.process_time", "timeit.default_timer")
_MILLISECONDS = re.compile(r"(?:\b|\})(?:ms|msecs?|mill?i-?sec\w*|millis)\b", re.IGNORECASE)


@rule("TL115", "Seconds called milliseconds", "error")
def called_milliseconds(example: Example) -> Iterator[Hit]:
    """A difference of readings in seconds is printed as milliseconds.

    Why: The figure is a thousand times what it says.

    Instead: Multiply it by 1000, or call it seconds.

    Wrong:
        tf.matmul(x, y)
        t = time.perf_counter()
        tf.matmul(x, y).numpy()
        print('took', time.perf_counter() - t, 'ms')

    Right:
        tf.matmul(x, y)
        t = time.perf_counter()
        tf.matmul(x, y).numpy()
        print('took', 1000 * (time.perf_counter() - t), 'ms')
    """
    for region, _ in regions(example):
        if region.scaled or region.clock not in _SECONDS:
            continue
        for line, words in region.told:
            if _MILLISECONDS.search(words) and example.holds(line):
                yield Hit(
                    line,
                    "these are seconds, and they are called milliseconds",
                    region=region,
                    severity="error",
                )
                break
