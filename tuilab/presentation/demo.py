"""The demo: one document's claim after another; guess whether it holds here, then see it measured.

What came of it is the verdict of the run, in its own words, so that demo and answer cannot disagree.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tuilab.model.claims import Claim, Verdict, VerdictWord
from tuilab.model.events import Event, Finished
from tuilab.model.machine import Machine
from tuilab.model.preset import Preset
from tuilab.model.result import RunResult
from tuilab.presentation.answer import opening

if TYPE_CHECKING:
    from tuilab.lab.lab import Lab

Stage = Literal["guess", "measure", "told"]
GUESS_S, TOLD_S = 20, 15
GUESSES = ("it holds", "it does not", "it cannot be decided here")
GUESSED: dict[VerdictWord, str] = {
    "confirmed": GUESSES[0],
    "refuted": GUESSES[1],
    "impossible": GUESSES[1],
    "undecided": GUESSES[2],
    "untestable": GUESSES[2],
}
"""Which guess each verdict makes right."""


@dataclass
class Demo:
    """One preset after another: a guess, a measurement, what came of it."""

    steps: Sequence[Preset]
    """The presets, each with a claim."""
    at: int = 0
    """The place in them."""
    stage: Stage = "guess"
    """What is waited for."""
    guess: str = ""
    """What was guessed, "" for nothing."""
    verdict: Verdict | None = None
    """The run's own on the claim."""
    reason: str = ""
    """What the run showed beside it; "" where it tells nothing."""
    paused: bool = False
    """The seconds stand still."""
    left_s: int = GUESS_S
    """Seconds until it goes on by itself."""
    right: int = 0
    """Guesses that were right."""
    asked: int = 0
    """Guesses that were made."""

    @property
    def preset(self) -> Preset:
        """The preset of this step."""
        return self.steps[self.at]

    @property
    def last(self) -> bool:
        """Whether no step follows."""
        return self.at == len(self.steps) - 1

    def enter(self, at: int) -> None:
        """Begin a step."""
        self.at = min(len(self.steps) - 1, max(0, at))
        self.stage, self.guess, self.verdict, self.reason, self.left_s = "guess", "", None, "", GUESS_S

    def choose(self, number: int) -> bool:
        """Take a guess, 1 for the first; False where there is no such guess or it is too late."""
        if self.stage != "guess" or not 1 <= number <= len(GUESSES):
            return False
        self.guess = GUESSES[number - 1]
        return True

    def tell(self, result: RunResult) -> None:
        """Compare the guess with the run's verdict."""
        self.stage, self.left_s = "told", TOLD_S
        self.verdict = next(iter(result.claims), None)
        self.reason = next((found.sentence for found in result.diagnosis if found.arm), "")
        if self.guess and self.verdict is not None:
            self.asked += 1
            self.right += self.guess == GUESSED[self.verdict.verdict]

    def tick(self) -> bool:
        """Count a second; returns True when it is time to go on."""
        if self.paused or self.stage == "measure":
            return False
        self.left_s -= 1
        return self.left_s <= 0


def tour(presets: Sequence[Preset], machine: Machine | None = None) -> list[Preset]:
    """Choose a preset with a claim of each document: the first that can be decided here, else its first."""
    found: dict[str, list[Preset]] = {}
    for preset in presets:
        if preset.claims:
            found.setdefault(preset.source.document if preset.source else preset.name, []).append(preset)
    without = machine is not None and not machine.gpus
    able = ([p for p in some if not (without and needs_gpu(p.claims[0]))] for some in found.values())
    return [(some or every)[0] for some, every in zip(able, found.values(), strict=True)]


def needs_gpu(claim: Claim) -> bool:
    """Return whether a machine without a GPU has nothing to say of the claim."""
    patterns = (getattr(claim.when, name, None) for name in ("a", "b", "arms"))
    return claim.gpu or any("GPU" in (getattr(p, "device", None) or "") for p in patterns)


def begin(lab: "Lab", demo: Demo, at: int) -> None:
    """Go to a step: its preset is on the screen, and not measured yet."""
    demo.enter(at)
    lab.present(demo.preset)


def measured(lab: "Lab", demo: Demo, event: Event | None) -> bool:
    """Return whether this event has ended the step's run, whose verdict is told then."""
    if demo.stage != "measure" or not isinstance(event, Finished) or event.run != lab.state.shown.run:
        return False
    result = lab.state.result()
    if result is None or event.status == "cancelled":
        return False
    demo.tell(result)
    return True


def lines(demo: Demo) -> tuple[str, str, str]:
    """Return what the demo says: the claim, the question or the outcome, and the keys."""
    claim = demo.preset.claims[0].text
    counted = "paused" if demo.paused else f"measures by itself in {demo.left_s} s"
    following = "paused" if demo.paused else f"next in {demo.left_s} s"
    if demo.stage == "guess":
        offers = " · ".join(f"{{demo.guess-{i}}} {guess}" for i, guess in enumerate(GUESSES, 1))
        return (
            claim,
            f"True here? {offers}",
            f"{counted} · {{demo.next}} measures now, {{demo.leave}} leaves",
        )
    if demo.stage == "measure":
        said = f"You say: {demo.guess}. " if demo.guess else ""
        return claim, f"{said}Measuring…", "{demo.next} skips, {demo.back} goes back, {demo.leave} leaves"
    end = "{demo.leave} ends the demo"
    if not demo.last:
        end = (
            f"{following}; {{demo.next}} next, {{demo.back}} back, {{demo.pause}} pauses, "
            + "{demo.leave} leaves"
        )
    about = f"Why: {demo.reason}" if demo.reason else opening(demo.preset.summary) or demo.preset.title
    return outcome(demo), about, end


def outcome(demo: Demo) -> str:
    """Return `You said: it holds. Confirmed: CPU graph is 1.3 × as fast as GPU graph. Right; 3 of 4.`"""
    if demo.verdict is None:
        return "Nothing could be measured here; the answer below says why."
    word = demo.verdict.verdict
    measured = f"{'Untestable here' if word == 'untestable' else word.capitalize()}: {demo.verdict.evidence}"
    if not demo.guess:
        return measured
    right = "Right" if demo.guess == GUESSED[word] else "Not this time"
    return f"You said: {demo.guess}. {right}; {demo.right} of {demo.asked}. {measured}"
