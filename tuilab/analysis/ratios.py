import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from tuilab.analysis.statistics import LARGE, Bounded, Location, locate, t_quantile
from tuilab.analysis.words import times
from tuilab.model.quantity import digits_for, significant

if TYPE_CHECKING:
    from numpy.typing import NDArray


PAIRED, UNPAIRED = "round by round", "by their mean times"
"""How the ratio of two arms is computed, as text for sentences. The ratio rarely equals the quotient of the
medians.
"""
VAGUE = 100.0
"""An estimate is reported only if the ratio of its interval's ends is less than this."""
ALIKE = 1.1
"""Two arms are reported as equal if the whole interval of their ratio is within this factor of 1."""
LEAST = 1.005
"""A smaller ratio prints as 1.00×, so neither arm is reported as slower, even if the difference is certain.
"""


@dataclass(frozen=True, slots=True)
class RatioEstimate(Bounded):
    """a's time over b's, with its 95% interval. Unitless; if above 1, a is slower.

    low, high: None with fewer than two common rounds. n: number of common rounds; if unpaired, the smaller
    number of rounds. paired: True if computed from common rounds.
    """

    ratio: float
    low: float | None
    high: float | None
    n: int
    paired: bool = True

    @property
    def differs(self) -> bool:
        return self.low is not None and self.high is not None and not self.low <= 1 <= self.high

    @property
    def is_informative(self) -> bool:
        return self.low is not None and self.high is not None and self.high < VAGUE * self.low

    @property
    def alike(self) -> bool:
        if self.interval is None:
            return False
        low, high = self.interval
        return low >= 1 / ALIKE and high <= ALIKE

    @property
    def least(self) -> float | None:
        """The smallest difference (0.07: 7%) that nine of ten such runs would detect, from the power of the t
        interval.

        δ = (t₀.₉₇₅ + t₀.₉₀) s of the log ratio; the interval's half-width is t₀.₉₇₅ s.
        """
        if self.low is None or self.high is None or self.low <= 0 or self.n < 2:
            return None
        half, df = math.log(self.high / self.low) / 2, self.n - 1
        return math.expm1(half * (1 + t_quantile(0.90, df) / t_quantile(0.975, df)))

    @property
    def sign(self) -> int:
        """+1 if a is slower, −1 if a is faster, 0 if the two cannot be told apart."""
        if not self.differs or 1 / LEAST < self.ratio < LEAST:
            return 0
        return 1 if self.ratio > 1 else -1

    @property
    def is_slower(self) -> bool:
        return self.differs and self.ratio > 1

    @property
    def turned(self) -> "RatioEstimate":
        """The ratio of b's time to a's."""
        ends = (None, None) if self.low is None or self.high is None else (1 / self.high, 1 / self.low)
        return replace(self, ratio=1 / self.ratio, low=ends[0], high=ends[1])

    @property
    def how(self) -> str:
        return PAIRED if self.paired else UNPAIRED

    @property
    def words(self) -> str:
        """Format as `1.27×`, with the digits that its interval allows. Every view uses this."""
        return times(self.ratio, self.half_width)

    @property
    def span(self) -> str:
        """Format as `[1.24 1.30]`, with the decimals of `words`; "" without an interval."""
        if self.interval is None:
            return ""
        decimals = len(self.words.removesuffix("×").partition(".")[2])
        digits = min(3, digits_for(self.ratio, self.half_width))
        ends = [f"{end:,.{decimals}f}" if decimals else significant(end, digits) for end in self.interval]
        return f"[{' '.join(ends)}]"


def ratio(a_by_round: Mapping[int, float], b_by_round: Mapping[int, float]) -> RatioEstimate | None:
    """Return a's time over b's, paired by round; None without a common round. The arguments map rounds to
    seconds per call.

    The result is the exponential of the 10% trimmed mean of log(a / b) over the common rounds, with a t
    interval that is widened for autocorrelation (`locate`). Pairing cancels slowdowns that affect both arms
    in a round. Assumes log ratios roughly symmetric around their middle. Ignores rounds in which either time
    is not positive and finite.
    """
    middle = locate(log_ratios(a_by_round, b_by_round))
    return None if middle is None else from_location(middle)


def unpaired(one: Location | None, other: Location | None) -> RatioEstimate | None:
    """Return the ratio of two arms' times whose rounds cannot be paired, as on two hosts, from the means of
    their logs; None if either arm has no samples.

    Computed from the difference of the two means, with Welch's interval (squared errors added,
    Welch–Satterthwaite degrees of freedom). This interval is wider than that of a paired ratio, because no
    shared noise cancels.
    """
    if one is None or other is None:
        return None
    n = min(one.n, other.n)
    if one.error is None or other.error is None:
        return replace(from_location(Location(one.mean - other.mean, None, 0, n)), paired=False)
    squares = one.error**2, other.error**2
    spread = squares[0] ** 2 / one.df + squares[1] ** 2 / other.df
    df = max(1, int(sum(squares) ** 2 / spread)) if spread else one.df + other.df
    found = from_location(Location(one.mean - other.mean, math.sqrt(sum(squares)), df, n))
    return replace(found, paired=False)


def log_ratios(a_by_round: Mapping[int, float], b_by_round: Mapping[int, float]) -> list[float]:
    pairs = [
        (a_by_round[index], b_by_round[index]) for index in sorted(a_by_round.keys() & b_by_round.keys())
    ]
    return [math.log(a) - math.log(b) for a, b in pairs if 0 < a < math.inf and 0 < b < math.inf]


def aligned_log_ratios(
    a_rounds: Sequence[int], a: Sequence[float], b_rounds: Sequence[int], b: Sequence[float]
) -> Sequence[float]:
    """Compute `log_ratios` from lists of samples and of the samples' rounds. Faster for many samples, because
    it builds no dictionaries.

    If a round has several samples, only the last counts. The rounds must be in ascending order.
    """
    if min(len(a), len(b)) <= LARGE:
        return log_ratios(dict(zip(a_rounds, a, strict=True)), dict(zip(b_rounds, b, strict=True)))
    import numpy as np

    (rounds, one), (others, other) = _last_of_round(a_rounds, a), _last_of_round(b_rounds, b)
    if not np.array_equal(rounds, others):
        _, here, there = np.intersect1d(rounds, others, assume_unique=True, return_indices=True)
        one, other = one[here], other[there]
    good = (one > 0) & (one < math.inf) & (other > 0) & (other < math.inf)
    return cast(Sequence[float], np.log(one[good]) - np.log(other[good]))


def _last_of_round(rounds: Sequence[int], samples: Sequence[float]) -> "tuple[NDArray[Any], NDArray[Any]]":
    import numpy as np

    at, values = np.asarray(rounds), np.asarray(samples, dtype=float)
    last = np.append(at[1:] != at[:-1], True)
    return (at, values) if last.all() else (at[last], values[last])


def logs(samples: Sequence[float]) -> Sequence[float]:
    """Return the log of each positive, finite sample, in order."""
    if len(samples) <= LARGE:
        return [math.log(s) for s in samples if 0 < s < math.inf]
    import numpy as np

    values = np.asarray(samples, dtype=float)
    return cast(Sequence[float], np.log(values[(values > 0) & (values < math.inf)]))


def from_location(middle: Location) -> RatioEstimate:
    half = middle.half_width()
    if half is None:
        return RatioEstimate(_exp(middle.mean), None, None, middle.n)
    low, high = _exp(middle.mean - half), _exp(middle.mean + half)
    return RatioEstimate(_exp(middle.mean), low, high, middle.n)


def _exp(log: float) -> float:
    # JSON has no infinity, and a ratio beyond 1e300 is meaningless.
    return math.exp(max(-690.0, min(690.0, log)))
