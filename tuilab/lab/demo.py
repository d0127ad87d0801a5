"""The demo: presets one after another; guess who wins, then see it measured."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from tuilab.lab.answer import opening
from tuilab.lab.settings import Settings
from tuilab.model.arms import Arm, family, labels
from tuilab.model.machine import Machine
from tuilab.model.preset import Preset
from tuilab.model.quantity import median_of
from tuilab.model.result import RunResult

Stage = Literal["guess", "measure", "told"]
GUESS_S, TOLD_S = 20, 15
MOST_CHOICES = 9


@dataclass
class Demo:
    """One preset after another: a guess, a measurement, what came of it."""

    steps: Sequence[Preset]
    """The presets."""
    at: int = 0
    """The place in them."""
    stage: Stage = "guess"
    """What is waited for."""
    guess: str = ""
    """The choice that was guessed, "" for none."""
    winners: list[str] = field(default_factory=list)
    """The fastest choice, then those that tie with it."""
    reason: str = ""
    """Why, by what the run itself showed; "" where it tells nothing."""
    figure: str = ""
    """The fastest one's time, in words."""
    paused: bool = False
    """The seconds stand still."""
    left_s: int = GUESS_S
    """Seconds until it goes on by itself."""
    right: int = 0
    """Guesses that were right."""
    asked: int = 0
    """Guesses that were made."""
    groups: dict[str, list[str]] = field(default_factory=dict)
    """For each choice the ids of its arms."""

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
        self.stage, self.guess, self.winners, self.figure, self.left_s = "guess", "", [], "", GUESS_S
        self.reason = ""

    def offer(self, settings: Settings, machine: Machine | None) -> None:
        """Work out what can be guessed."""
        self.groups = choices(settings.arms_on(machine), machine)

    def choose(self, number: int) -> bool:
        """Take a guess, 1 for the first choice; False where there is no such choice or it is too late."""
        names = list(self.groups)
        if self.stage != "guess" or not 1 <= number <= len(names):
            return False
        self.guess = names[number - 1]
        return True

    def tell(self, result: RunResult) -> None:
        """Compare the guess with what was measured."""
        timed = {arm.id: arm for arm in result.arms if arm.median_s is not None}
        fastest = min(timed.values(), key=lambda arm: arm.median_s or 0.0, default=None)
        self.stage, self.left_s = "told", TOLD_S
        if fastest is None:
            return
        half = (fastest.ci95_s[1] - fastest.ci95_s[0]) / 2 if fastest.ci95_s else None
        self.figure = median_of(fastest.median_s or 0.0, half)
        # Whose interval reaches down to the fastest one's cannot be told apart from it.
        high = fastest.ci95_s[1] if fastest.ci95_s else fastest.median_s or 0.0
        tied = {
            id for id, arm in timed.items() if (arm.ci95_s[0] if arm.ci95_s else arm.median_s or 0.0) <= high
        }
        first = [name for name, arms in self.groups.items() if fastest.id in arms] or [fastest.label]
        self.winners = first + [n for n, arms in self.groups.items() if n not in first and tied & set(arms)]
        about = [found for found in result.diagnosis if found.arm]
        self.reason = next((found.sentence for found in about), "")
        if self.guess:
            self.asked += 1
            self.right += self.guess in self.winners

    def tick(self) -> bool:
        """A second has passed; True when it is time to go on."""
        if self.paused or self.stage == "measure":
            return False
        self.left_s -= 1
        return self.left_s <= 0


def choices(arms: Sequence[Arm], machine: Machine | None) -> dict[str, list[str]]:
    """What can be guessed: device and mode, or what else tells the arms of this machine apart."""
    there = {d.name for d in machine.devices} if machine else set()
    arms = [arm for arm in arms if arm.device in there] or list(arms)
    ways: tuple[Callable[[Arm], tuple[str, str]], ...] = (
        lambda arm: (family(arm.device), arm.mode),
        lambda arm: (family(arm.device), arm.variant),
        lambda arm: (family(arm.device), arm.dtype),
    )
    for way in ways:
        groups: dict[str, list[str]] = {}
        for arm in arms:
            groups.setdefault(" ".join(way(arm)).strip(), []).append(arm.id)
        if 2 <= len(groups) <= MOST_CHOICES:
            return groups
    return {name: [arm.id] for name, arm in list(zip(labels(arms), arms, strict=True))[:MOST_CHOICES]}


def tour(presets: Sequence[Preset]) -> list[Preset]:
    """The first example of each document, then the first prose claim of the first: short and telling ones."""
    seen: set[str] = set()
    out = []
    for preset in presets:
        number = preset.source.document if preset.source else ""
        if number and number not in seen:
            seen.add(number)
            out.append(preset)
    return out or list(presets)


def lines(demo: Demo) -> tuple[str, str, str]:
    """What the demo says: a sentence, the question or the outcome, and the keys."""
    sentence = opening(demo.preset.summary) or demo.preset.title
    counted = "paused" if demo.paused else f"{demo.left_s} s"
    if demo.stage == "guess":
        offers = "  ".join(f"{i} {name}" for i, name in enumerate(demo.groups, 1))
        return (
            f"{sentence} Which is fastest?",
            offers,
            f"{counted} · a digit guesses, n measures now, space pauses, esc leaves",
        )
    if demo.stage == "measure":
        said = f"You say {demo.guess}. " if demo.guess else ""
        return sentence, f"{said}Measuring…", "n skips, b goes back, esc leaves"
    end = "esc ends the demo" if demo.last else f"next in {counted}; n next, b back, space pauses, esc leaves"
    return f"{outcome(demo)}", f"Why: {demo.reason}" if demo.reason else sentence, end


def outcome(demo: Demo) -> str:
    """`You said CPU graph. Fastest: CPU graph, 79 µs. Right; 3 of 4.`"""
    if not demo.winners:
        return "Nothing could be measured here; the answer below says why."
    measured = f"Fastest: {demo.winners[0]}, {demo.figure}"
    if len(demo.winners) > 1:
        measured += f"; {' and '.join(demo.winners[1:3])} within the noise"
    if not demo.guess:
        return measured + "."
    word = "Right" if demo.guess in demo.winners else "Not this time"
    return f"You said {demo.guess}. {measured}. {word}; {demo.right} of {demo.asked}."
