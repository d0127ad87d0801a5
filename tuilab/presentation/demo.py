"""The demo: for one preset after another, the user guesses whether a document's claim holds, then sees the
measurement.

The outcome uses the words of the run's verdict, so that demo and answer cannot disagree.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING, Literal

from tuilab.analysis.words import capitalized
from tuilab.lab.state import overall
from tuilab.model.arms import family
from tuilab.model.claims import (
    Claim,
    Crosses,
    Faster,
    PhaseShare,
    PlacedOn,
    SamePlacement,
    ShareGrows,
    Verdict,
    VerdictWord,
    WaitsForInput,
)
from tuilab.model.events import Event, Finished
from tuilab.model.machine import Machine
from tuilab.model.preset import Preset
from tuilab.model.quantity import plural
from tuilab.model.result import RunResult
from tuilab.model.verdicts import EMULATED, VERDICTS, verdict_words
from tuilab.presentation.answer import opening
from tuilab.report.fact_check import FactCheck, Statement, with_doubts

if TYPE_CHECKING:
    from tuilab.lab.lab import Lab

Stage = Literal["guess", "measure", "told", "summary"]
GUESS_S, TOLD_S = 20, 15
GUESSES = ("it holds", "it does not", "it cannot be decided here")
GUESSED: dict[VerdictWord, str] = {
    "confirmed": GUESSES[0],
    "refuted": GUESSES[1],
    "impossible": GUESSES[1],
    "undecided": GUESSES[2],
    "untestable": GUESSES[2],
}
"""The guess that each verdict proves right."""


OPENER = "tiny-ops"
"""Name of the demo's first preset, whose effect is large on every machine."""
MOST = 6
SWEPT = (Crosses, ShareGrows, SamePlacement)
"""Claims that only a sweep can decide, which takes too long for a demo."""
TIMED = (Faster, WaitsForInput, PhaseShare)
"""Claims about times. The demo shows them before other claims, because a time is more interesting than, for
example, a missing kernel.
"""


@dataclass(frozen=True)
class Outcome:
    preset: Preset
    guess: str
    verdict: Verdict
    run: str = ""
    evidence: str = ""
    """The verdict's evidence, followed by the doubts about the run, such as a busy host."""

    @property
    def decided(self) -> bool:
        """True if the evidence shows that the claim holds, or that it does not hold."""
        return self.verdict.verdict in ("confirmed", "refuted", "impossible")

    @property
    def right(self) -> bool:
        return self.guess == GUESSED[self.verdict.verdict]

    @property
    def scored(self) -> bool:
        """True if the score counts the guess.

        A guess about an undecided claim only counts if the user said that the claim cannot be decided.
        """
        return bool(self.guess) and (self.decided or self.right)


@dataclass
class Demo:
    """The state of the demo: its presets, each with a guess, a measurement and an outcome."""

    steps: Sequence[Preset]
    at: int = 0
    stage: Stage = "guess"
    guess: str = ""
    """The user's guess; "" if none."""
    verdict: Verdict | None = None
    reason: str = ""
    """An explanation of the verdict; "" if there is none."""
    paused: bool = False
    left_s: int = GUESS_S
    """Seconds until the demo continues automatically."""
    outcomes: dict[int, Outcome] = field(default_factory=dict)

    @property
    def right(self) -> int:
        return sum(each.scored and each.right for each in self.outcomes.values())

    @property
    def asked(self) -> int:
        return sum(each.scored for each in self.outcomes.values())

    @property
    def preset(self) -> Preset:
        return self.steps[self.at]

    @property
    def last(self) -> bool:
        return self.at == len(self.steps) - 1

    def enter(self, at: int) -> None:
        self.at = min(len(self.steps) - 1, max(0, at))
        self.stage, self.guess, self.verdict, self.reason, self.left_s = "guess", "", None, "", GUESS_S

    def choose(self, number: int) -> bool:
        """Record the guess with this number. Return False if there is no such guess, or if guessing has
        ended.
        """
        if self.stage != "guess" or not 1 <= number <= len(GUESSES):
            return False
        self.guess = GUESSES[number - 1]
        return True

    def tell(self, result: RunResult) -> None:
        self.stage, self.left_s = "told", TOLD_S
        self.verdict = next(iter(result.claims), None)
        self.reason = ""
        if self.verdict is not None:
            self.reason = why(self.preset, self.verdict, result)
            marked = overall([claim.verdict for claim in result.claims])
            if marked != self.verdict.verdict:
                self.reason = (
                    f"Another claim of this preset is {marked}, as its mark shows. {self.reason}".strip()
                )
            evidence = with_doubts(self.verdict, result, self.preset.claims)
            self.outcomes[self.at] = Outcome(self.preset, self.guess, self.verdict, result.run, evidence)

    def sum_up(self) -> None:
        self.stage = "summary"

    def tick(self) -> bool:
        """Count down by one second. Return True once the countdown has ended."""
        if self.paused or self.stage in ("measure", "summary"):
            return False
        self.left_s -= 1
        return self.left_s <= 0


def why(preset: Preset, verdict: Verdict, result: RunResult) -> str:
    """Explain the verdict; "" if there is no explanation.

    The mistake in the document's code explains why a claim does not hold. A finding about one of the arms in
    the evidence explains why a claim holds.
    """
    if verdict.verdict in ("refuted", "impossible"):
        wrong = opening(preset.wrong)
        return f"The document's code: {wrong}" if wrong else ""
    compared = _arms_in(verdict.evidence, result)
    about = (each for each in result.diagnosis if each.arm in compared)
    finding = next(about, None) if verdict.verdict == "confirmed" else None
    return f"Why: {finding.message}" if finding else ""


def _arms_in(evidence: str, result: RunResult) -> set[str]:
    """Return the ids of the arms in the evidence. The label `GPU graph copied` does not count as `GPU
    graph`.
    """
    ids = set()
    for arm in sorted(result.arms, key=lambda arm: -len(arm.label)):
        named = re.compile(rf"(?<!\w){re.escape(arm.label)}(?!\w)")
        if named.search(evidence):
            ids.add(arm.id)
            evidence = named.sub("", evidence)
    return ids


def tour(
    presets: Sequence[Preset],
    machine: Machine | None = None,
    known: Mapping[str, VerdictWord] | None = None,
) -> list[Preset]:
    """Choose up to MOST presets with a claim that this machine can decide, one from each document in turn.

    Claims about times come first. If this machine can decide no claim, choose a preset from each document.
    known: verdicts of earlier runs on this machine. An unknown machine counts as one without a GPU.
    """
    known, every = known or {}, [preset for preset in presets if preset.claims]
    able = [p for p in every if decidable(p, machine, known.get(p.name))]
    able.sort(key=lambda p: (p.name != OPENER, not isinstance(p.claims[0].when, TIMED)))
    by_document: dict[str, list[Preset]] = {}
    for preset in able or every:
        by_document.setdefault(preset.source.document if preset.source else preset.name, []).append(preset)
    turns = zip_longest(*by_document.values()) if able else [[some[0] for some in by_document.values()]]
    return [preset for turn in turns for preset in turn if preset is not None][:MOST]


def update_steps(
    demo: Demo, presets: Sequence[Preset], machine: Machine | None, known: Mapping[str, VerdictWord]
) -> None:
    """Choose the remaining steps again after the first measurement, which makes the machine known."""
    first = demo.steps[0]
    demo.steps = [first, *(p for p in tour(presets, machine, known) if p.name != first.name)][:MOST]


def decidable(preset: Preset, machine: Machine | None, known: VerdictWord | None = None) -> bool:
    """Return True if a short run on this machine can confirm or refute the preset's first claim."""
    claim = preset.claims[0]
    if known is not None:
        return GUESSED[known] != GUESSES[2]
    without = machine is None or not machine.gpus
    return not (claim.hedged or isinstance(claim.when, SWEPT) or (without and needs_gpu(claim)))


def needs_gpu(claim: Claim) -> bool:
    devices = [pattern.device for pattern in claim.when.patterns]
    devices += [claim.when.device] if isinstance(claim.when, PlacedOn) else []
    return claim.gpu or "GPU" in map(family, devices)


def begin(lab: "Lab", demo: Demo, at: int) -> None:
    demo.enter(at)
    lab.present(demo.preset)


def measured(lab: "Lab", demo: Demo, event: Event | None) -> bool:
    """If the event ended the step's run, compare the guess with the run's verdict and return True."""
    if demo.stage != "measure" or not isinstance(event, Finished) or event.run != lab.state.shown.run:
        return False
    result = lab.state.result()
    if result is None or event.status == "cancelled":
        return False
    demo.tell(result)
    return True


def lines(demo: Demo) -> tuple[str, str, str]:
    """Return the claim, the question or its outcome, and the keys that work now.

    After the last step, the score and the list of steps replace the claim and the question.
    """
    first = demo.preset.claims[0]
    # The evidence explains the document's word, as in `we take “high” as at least 2×`.
    claim = first.text + (f" (In the document: “{first.said}”.)" if first.said else "")
    counted = "paused" if demo.paused else f"measures automatically in {demo.left_s} s"
    following = "paused" if demo.paused else f"next in {demo.left_s} s"
    if demo.stage == "guess":
        offers = " · ".join(f"{{demo.guess-{i}}} {guess}" for i, guess in enumerate(GUESSES, 1))
        return (
            claim,
            f"Is it true here? {offers}",
            f"{counted} · {{demo.next}} measures now, {{demo.leave}} leaves",
        )
    if demo.stage == "measure":
        text = f"You say: {demo.guess}. " if demo.guess else "No guess; guessing has ended. "
        return claim, f"{text}Measuring…", "{demo.next} skips, {demo.back} goes back, {demo.leave} leaves"
    if demo.stage == "summary":
        return (
            *summary(demo),
            "{demo.page} writes a page to share, {demo.back} goes back, {demo.leave} leaves",
        )
    end = (
        f"{following}; {{demo.next}} {'sums up' if demo.last else 'continues'}, {{demo.back}} goes back, "
        "{demo.pause} pauses, {demo.leave} leaves"
    )
    return outcome(demo), demo.reason or opening(demo.preset.summary) or demo.preset.title, end


def summary(demo: Demo) -> tuple[str, str]:
    """Return the score, and a list of the steps with their verdicts and guesses."""
    outcomes = [demo.outcomes[at] for at in sorted(demo.outcomes)]
    words = [f"{demo.right} of {plural(demo.asked, 'guess')} right"] if demo.asked else []
    if undecided := sum(bool(each.guess) and not each.scored for each in outcomes):
        words.append(f"{plural(undecided, 'guess')} not counted because the evidence is inconclusive")
    rows = []
    for each in outcomes:
        guessed = (" (you: right)" if each.right else " (you: wrong)") if each.scored else ""
        soft = f" {EMULATED}" * each.verdict.emulated
        rows.append(f"{VERDICTS[each.verdict.verdict].mark}{soft} {each.preset.title}{guessed}")
    measured = sum(each.verdict.verdict != "untestable" for each in outcomes)
    score = [", ".join(words)] * bool(words)
    return f"{'; '.join([*score, plural(measured, 'claim')])} measured on this machine.", " · ".join(rows)


def page(demo: Demo, machine: Machine | None, at: str) -> FactCheck:
    """Return all claims with verdict, evidence and guess as a page, to save or send."""
    rows = []
    for index in sorted(demo.outcomes):
        each = demo.outcomes[index]
        mark = (", right" if each.right else ", wrong") if each.scored else ", not counted"
        guessed = f"Guessed: {each.guess}{mark}. " if each.guess else ""
        rows.append(
            Statement(
                preset=each.preset.name,
                title=each.preset.title,
                text=each.verdict.text,
                verdict=each.verdict.verdict,
                evidence=f"{guessed}{each.evidence}",
                run=each.run,
                emulated=each.verdict.emulated,
            )
        )
    return FactCheck(title=f"Guess first: {summary(demo)[0]}", statements=rows, machine=machine, at=at)


def outcome(demo: Demo) -> str:
    """Return `You said: it holds. Confirmed: CPU graph is 1.3× as fast as GPU graph. Right; 3 of 4.`"""
    if demo.verdict is None:
        return "Nothing could be measured here; the answer below gives the reason."
    words = verdict_words(demo.verdict.verdict, demo.verdict.emulated)
    measured = f"{capitalized(words)}: {demo.verdict.evidence}"
    if not demo.guess:
        return measured
    last = demo.outcomes[demo.at]
    if not last.scored:
        return f"You said: {demo.guess}. Not counted: the evidence is inconclusive. {measured}"
    right = "Right" if last.right else "Not this time"
    return f"You said: {demo.guess}. {right}; {demo.right} of {demo.asked}. {measured}"
