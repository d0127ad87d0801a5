"""Whether something else used the processor while the lab measured: judgement of counters read elsewhere."""

from dataclasses import dataclass

from tuilab.analysis.caveat import Caveat
from tuilab.analysis.words import listed, percent, plural

SWITCHES_PER_S = 50.0
WAITED = 0.05
THROTTLED = 0.01
OTHERS = 0.25
INTRUDERS = 0.1
"""Of one core: below, others did not interrupt; the process's own threads made way for each other."""
CANARY = 0.05


@dataclass(frozen=True, kw_only=True, slots=True)
class Pressure:
    """What the counters gained over `wall_s` seconds of measuring; null for what this system does not tell.

    switches: involuntary context switches of this process (`ru_nivcsw`).
    waited_s: time that the measuring thread was ready but not running (`/proc/thread-self/schedstat`).
    throttled_s: time held back by a CPU quota (cgroup `cpu.stat`, `throttled_usec`).
    others_s: CPU seconds of all other processes, over all cores (`/proc/stat` less this process's own).
    load: the 1-minute load average. cores: logical CPUs that this process may use.
    """

    wall_s: float
    cores: int
    switches: int | None = None
    waited_s: float | None = None
    throttled_s: float | None = None
    others_s: float | None = None
    load: float | None = None


def contention(seen: Pressure) -> Caveat | None:
    """A doubt where anything took the processor away from the measurement.

    Limits: 50 involuntary switches a second (one competitor on the same core caused 125 a second on Linux
    6.18, and kept a spinning thread waiting half the time), where others used 10 % of a core at least; 5 % of
    the time ready but not running; 1 % of the time held back by a quota; others busy for a quarter of all
    cores' time; a load more than one above the number of cores.
    """
    if seen.wall_s <= 0:
        return None
    reasons = []
    if seen.throttled_s is not None and seen.throttled_s / seen.wall_s > THROTTLED:
        reasons.append(f"a CPU quota held it back for {percent(seen.throttled_s / seen.wall_s)} of the time")
    if seen.waited_s is not None and seen.waited_s / seen.wall_s > WAITED:
        reasons.append(f"it waited for a processor for {percent(seen.waited_s / seen.wall_s)} of the time")
    alone = seen.others_s is not None and seen.others_s / seen.wall_s < INTRUDERS
    if seen.switches is not None and seen.switches / seen.wall_s > SWITCHES_PER_S and not alone:
        reasons.append(f"it was interrupted {seen.switches / seen.wall_s:,.0f} times a second")
    if seen.others_s is not None and seen.others_s / (seen.wall_s * seen.cores) > OTHERS:
        share = seen.others_s / (seen.wall_s * seen.cores)
        reasons.append(f"other processes used {percent(share)} of {plural(seen.cores, 'logical CPU')}")
    if seen.load is not None and seen.load > seen.cores + 1:
        reasons.append(f"the load average was {seen.load:.1f} on {plural(seen.cores, 'logical CPU')}")
    if not reasons:
        return None
    return Caveat("cpu-contention", f"the processor was shared: {listed(reasons)}")


def canary_moved(usual_s: float, now_s: float) -> Caveat | None:
    """A doubt where the canary, a fixed tiny workload, takes over 5 % more or less time than it usually does.

    usual_s: its median over the rounds before, in seconds.
    """
    if usual_s <= 0:
        return None
    moved = now_s / usual_s - 1
    if abs(moved) <= CANARY:
        return None
    word = "slower" if moved > 0 else "faster"
    return Caveat("canary", f"the machine itself became {percent(abs(moved))} {word} during a round")
