"""A run in one line: its fastest arm and the lead over the next."""

import msgspec


class Brief(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """rounds: number of rounds at the time of this summary; a different number means that it is outdated.
    fastest, next: labels of arms; "" if not measured. `next` is the fastest on the other kind of device,
    if measured.
    median_s: seconds per call of the fastest.
    ratio, low, high: time of the next over that of the fastest, round by round, with the 95% interval;
    below 1 if the rounds contradict the medians.
    swept: the parameters of a sweep, "samples, frame length", else "".
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
        """True if the fastest arm leads by more than the noise."""
        return self.low is not None and self.high is not None and self.low > 1
