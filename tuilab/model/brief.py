"""Summarizes a run in one line: its fastest arm, and how far that arm leads."""

import msgspec


class Brief(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A run's fastest arm and its lead over the fastest arm on the other kind of device.

    rounds: number of rounds that the summary covers. fastest, next: labels of the two arms, "" if not
    measured. median_s: seconds per call of `fastest`. ratio: time of `next` divided by the time of `fastest`,
    paired by round; low, high: the ratio's 95% interval. The ratio can be below 1, although `fastest` has the
    smaller median. swept: names of the swept parameters, such as "samples, frame length"; "" without a sweep.
    sizes: measured range of the swept parameters, such as "256 to 1M samples".
    """

    rounds: int
    fastest: str = ""
    median_s: float | None = None
    next: str = ""
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    swept: str = ""
    sizes: str = ""

    @property
    def leads(self) -> bool:
        return self.low is not None and self.high is not None and self.low > 1
