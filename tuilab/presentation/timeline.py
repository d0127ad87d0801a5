"""A profile as a timeline: the profiled arm, its events in tracks, and their descriptions."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tuilab.analysis.words import percent
from tuilab.lab.offers import Offer
from tuilab.lab.questions import Unanswered
from tuilab.model.account import Account
from tuilab.model.arms import family
from tuilab.model.errors import InputError
from tuilab.model.profile import Profile, ProfileArm, Span
from tuilab.model.quantity import seconds
from tuilab.presentation.status import why_empty

if TYPE_CHECKING:
    from tuilab.lab.lab import Lab

DEPTH = 4
WORK = ("compute", "copy", "input")
"""Phases that do the work of a call."""
MOST_SPANS = 4_000
"""Maximum number of spans in a profile, which are saved with the run. A few calls have fewer."""


class Profiling:
    """Profiles one arm of the run on the screen, in a separate pass."""

    def __init__(self, lab: "Lab") -> None:
        self._lab = lab
        self.arm = ""
        """Id of the selected arm; "" for none."""
        self._picked = self._asking = False
        self._failed = ""

    @property
    def profile(self) -> Profile | None:
        known = self._lab.state.shown.arms.get(self.arm)
        return known.profile if known else None

    @property
    def account(self) -> Account | None:
        """The phases of a call of the selected arm, from the run; None if the run did not measure them."""
        result = self._lab.state.result()
        return next((arm.account for arm in result.arms if arm.id == self.arm), None) if result else None

    @property
    def label(self) -> str:
        known = self._lab.state.shown.arms.get(self.arm)
        return known.label if known else ""

    @property
    def due(self) -> bool:
        state = self._lab.state
        known = self.profile is not None or self._asking or self._failed
        return bool(self.arm) and not (known or state.running or state.replay)

    def look(self) -> None:
        """Select the arm that the user picked, or else the fastest arm, on a GPU if possible.

        Prefers arms that have been profiled.
        """
        arms = self._arms()
        if self._picked and self.arm in arms:
            return
        result = self._lab.state.result()
        medians = {arm.id: arm.median_s for arm in result.arms} if result else {}
        known = self._lab.state.shown.arms
        kept = [arm for arm in arms if known[arm].profile is not None] or arms
        told = {
            arm: (family(known[arm].arm.device) != "GPU", medians.get(arm) or float("inf")) for arm in kept
        }
        arm = min(kept, key=told.__getitem__, default="")
        if arm != self.arm:
            self.arm, self._failed = arm, ""

    def pick(self, by: int) -> bool:
        """Select the next arm (`by` = 1), or select the current arm again (`by` = 0).

        Returns False if the run has no arms, or if an arm is being profiled.
        """
        arms = self._arms()
        if self._asking or not arms:
            return False
        at = arms.index(self.arm) if self.arm in arms else -1
        return self.take(arms[(at + by) % len(arms)])

    def take(self, arm: str) -> bool:
        """Select an arm by its id. Return False if there is no such arm, or if an arm is being profiled."""
        if self._asking or arm not in self._arms():
            return False
        self.arm, self._failed, self._picked = arm, "", True
        return True

    def offers(self) -> list[Offer]:
        """Return the arms that can be selected, each with a note if it has been profiled."""
        known = self._lab.state.shown.arms
        words = {True: "profiled", False: ""}
        return [Offer(arm, known[arm].label, words[known[arm].profile is not None]) for arm in self._arms()]

    async def ask(self) -> None:
        """Profile the selected arm. After a failure, `why_none` returns the reason."""
        state = self._lab.state.shown
        if state.scenario is None or self._lab.state.running or self._lab.state.replay:
            return
        self._asking, self._failed = True, ""
        try:
            arm = state.arms[self.arm].arm
            await self._lab.profile(ProfileArm(scenario=state.scenario, arm=arm, spans=MOST_SPANS))
        except (Unanswered, InputError) as error:
            self._failed = str(error)
        finally:
            self._asking = False

    def why_none(self) -> str:
        """Explain why there is no timeline, and how to get one."""
        state = self._lab.state
        if self._asking or self.due:
            return f"profiling {self.label}…"
        if self._failed:
            return (
                f"{self.label} could not be profiled: {self._failed} {{timeline.arm}} profiles the next arm."
            )
        if state.replay:
            where = f" ({state.shown.machine.host})" if state.shown.machine else ""
            # If this lab does not know the run's preset, the current settings belong to another preset.
            own = state.settings is not None and not state.stale
            return (
                "This arm was not profiled when the run was recorded. Profiling it now requires the "
                f"machine that made the recording{where}."
                + " To profile it on this machine, first measure its settings here with {run}."
                * own
            )
        if state.running or not state.shown.run:
            return why_empty(state)
        return "No arm of this run can be profiled."

    def _arms(self) -> list[str]:
        arms = self._lab.state.shown.arms
        return [arm for arm, known in arms.items() if known.status in (None, "ok") and known.cells]


def summary_lines(profile: Profile, label: str, account: Account | None) -> tuple[str, ...]:
    """Return lines such as `CPU graph: 483 µs a call, 610 µs under the profiler` and `compute 44%, dispatch
    38%`.

    account: the phases from the run, so that all views agree; None if the run did not measure them.
    """
    known = account or profile.account
    shares = {part.phase: known.share(part.phase) for part in known.parts} if known else {}
    shares = shares or {part.phase: part.share for part in profile.phases}
    largest = sorted(shares, key=lambda phase: -shares[phase])
    parts = ", ".join(
        f"{name.replace('_', ' ')} {percent(shares[name])}" for name in largest if shares[name] >= 0.01
    )
    whole = known.total_s if known else profile.measured_s
    text = f"{label}: {seconds(whole)} a call, {seconds(profile.step_s)} under the profiler"
    return text, parts, *profile.notes[:1]


@dataclass(frozen=True)
class Track:
    """Spans of a lane that do not overlap, sorted by start."""

    lane: int
    depth: int
    """Nesting level, from 0 for the outermost track."""
    spans: Sequence[Span]
    starts: Sequence[float]

    def index_at(self, time: float) -> int:
        """Return the index of the first span that ends after `time`; the number of spans if there is none."""
        index = max(0, bisect_right(self.starts, time) - 1)
        while index < len(self.spans) and self.spans[index].end_s <= time:
            index += 1
        return index


def tracks(spans: Sequence[Span]) -> list[Track]:
    """Divide each lane into tracks without overlaps, at most DEPTH of them.

    If spans are nested more deeply, the last track prefers spans that do work to their callers.
    """
    lanes: dict[int, list[list[Span]]] = {}
    for span in sorted(spans, key=lambda s: (s.start_s, -s.duration_s)):
        levels = lanes.setdefault(span.lane, [])
        free = next((level for level in levels if level[-1].end_s <= span.start_s), None)
        if free is not None:
            free.append(span)
        elif len(levels) < DEPTH:
            levels.append([span])
        elif span.phase in WORK and levels[-1][-1].phase not in WORK:
            levels[-1][-1] = span
    return [
        Track(lane, depth, level, [span.start_s for span in level])
        for lane, levels in sorted(lanes.items())
        for depth, level in enumerate(levels)
    ]


@dataclass(frozen=True, slots=True)
class Stretch:
    """The columns of a track from `first` up to but not including `end`. They show one span, or several short
    spans together (`span` is then None).
    """

    first: int
    end: int
    span: Span | None
    index: int = -1


def stretches(track: Track, begin: float, finish: float, columns: int) -> list[Stretch]:
    """Return the stretches to draw of a track between the times `begin` and `finish`, in `columns` columns.

    The function's run time depends on the number of columns, not on the number of spans.
    """
    per_column = (finish - begin) / columns
    out: list[Stretch] = []
    index = track.index_at(begin)
    while index < len(track.spans):
        span = track.spans[index]
        if span.start_s >= finish:
            break
        first = max(0, int((span.start_s - begin) / per_column))
        end = min(columns, max(first + 1, round((span.end_s - begin) / per_column)))
        following = bisect_left(track.starts, begin + (first + 1) * per_column, index + 1)
        if out and first < out[-1].end:
            # Rounding puts the start of this span into an occupied column, so use the next free one.
            first = out[-1].end
        if (
            following - index > 1
            and round((track.spans[following - 1].end_s - begin) / per_column) > first + 1
        ):
            # The last span that starts in this column extends beyond it, so draw that span alone.
            following -= 1
        if following - index > 1 and end - first <= 1:
            if first < columns:
                out.append(Stretch(first, first + 1, None, index))
            index = following
        else:
            if first < end:
                out.append(Stretch(first, end, span, index))
            index += 1
    return out
