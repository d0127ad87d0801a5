"""Estimates an arm's speed in rounds during which no other process was active, to compare it with the speed
over all rounds.

On a busy host, a run's least disturbed rounds show the speed of an idle machine. A window of rounds counts as
undisturbed if other processes used almost none of the processors and the canary ran as fast as it ever did in
the run. The time that threads waited for a processor is not used, because it is less informative
(docs/measuring.md).
"""

import statistics
from bisect import bisect_right
from collections.abc import Sequence

from tuilab.analysis.processes import estimate_of, kept_estimate
from tuilab.analysis.statistics import once
from tuilab.model.events import HostWindow
from tuilab.model.result import Undisturbed
from tuilab.model.run import ArmSamples, ArmState, RunState

OTHERS = 0.2
"""Maximum load from other processes, as a share of one processor. The kernel's clock ticks are too coarse to
show less within a quarter of a second.
"""
SONG = 1.08
"""Maximum slowdown of the canary (a short fixed computation), relative to its fastest times without other
activity. The canary's speed differs by a few percent between processes.
"""
LEAST = 20
"""Minimum number of undisturbed samples. With fewer, the interval of the median is too wide to compare."""
SOME = 0.9
"""Undisturbed samples are compared with all samples only if they are at most this share of all samples."""


def undisturbed(state: RunState, arm: ArmState, point: int) -> Undisturbed | None:
    """Return the speed in undisturbed rounds; None if they are few, or not clearly faster than all rounds."""
    cell = arm.cells.get(point)
    if cell is None or not state.windows:
        return None
    return once(cell, ("undisturbed", len(state.windows)), lambda: _of(cell, state.windows))


def quiet(windows: Sequence[HostWindow]) -> list[HostWindow]:
    """Return the windows of rounds without detectable activity of other processes."""
    alone = [window for window in windows if window.others < OTHERS]
    if not alone:
        return []
    songs = sorted(window.canary_s for window in alone)
    usual = statistics.median(songs[: max(1, len(songs) // 10)])
    return [window for window in alone if window.canary_s <= SONG * usual]


def cut(cell: ArmSamples, windows: Sequence[HostWindow]) -> ArmSamples:
    """Return only the samples from the rounds of these windows, by process."""
    ordered = sorted(windows, key=lambda window: window.first)
    firsts = [window.first for window in ordered]
    part = ArmSamples(begun=cell.begun, zygotes=cell.zygotes)
    for index, sample in zip(cell.rounds, cell.samples, strict=True):
        at = bisect_right(firsts, index) - 1
        if at >= 0 and index < ordered[at].first + ordered[at].rounds:
            part.rounds.append(index)
            part.samples.append(sample)
    return part


def _of(cell: ArmSamples, windows: Sequence[HostWindow]) -> Undisturbed | None:
    part = cut(cell, quiet(windows))
    if not LEAST <= len(part.samples) <= SOME * len(cell.samples):
        return None
    alone, now = estimate_of(part), kept_estimate(cell)
    if alone is None or now is None or alone.interval is None or now.interval is None:
        return None
    if alone.interval[1] >= now.interval[0]:
        return None
    sentence = f"{alone.with_interval} undisturbed; {now.words} at the host's current load"
    return Undisturbed(median_s=alone.median, ci95_s=alone.interval, n=len(part.samples), sentence=sentence)
