"""A run in one line of a list: its fastest arm, and how far behind another one is."""

import msgspec


class Brief(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """rounds: how many the run had when this was worked out, so that one that has gained some is seen.

    fastest, next: labels of arms, "" where nothing, or only one, was measured; next is the fastest on the
    other kind of device, where one was measured. median_s: of the fastest, in seconds per call. ratio, low,
    high: how many times as long the next one takes, round by round, with its 95% interval; below 1 where
    the rounds contradict the medians. swept: the parameters of a sweep, "samples, frame length", else "".
    """

    rounds: int
    fastest: str = ""
    median_s: float | None = None
    next: str = ""
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    swept: str = ""

    @property
    def leads(self) -> bool:
        """Whether the fastest is faster than the next one beyond the noise."""
        return self.low is not None and self.high is not None and self.low > 1
