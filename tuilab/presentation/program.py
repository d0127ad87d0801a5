"""The screen's text about a watched program: verdict, state, and why a part of the screen is empty."""

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from tuilab.analysis.words import capitalized, percent, times
from tuilab.model.program import Bottleneck, Page
from tuilab.model.quantity import plural, rough, seconds
from tuilab.presentation.answer import Said
from tuilab.presentation.status import Status
from tuilab.program import account
from tuilab.program.gains import at_most, share_of
from tuilab.report.axes import PlotAxis
from tuilab.report.chart import Chart, Series
from tuilab.report.program import gained, headline, measured, step_kind, step_time, watching_cost

SEPARATOR = " · "


def verdict(page: Page, *, running: bool) -> Said:
    """Return the verdict in a sentence, with the step time and the cost of watching below."""
    if not page.processes:
        if running:
            return Said(
                "The program has not imported TensorFlow yet.",
                detail="Watching starts when it does; the Output view shows the program's latest lines.",
            )
        return Said("TensorFlow was not detected.", detail=listed_notes(page))
    steps = page.steps
    if not steps.kind:
        text = (
            "No step has been detected yet: the program is starting." if running else "No step was detected."
        )
        return Said(text, detail="" if running else listed_notes(page))
    whole = account.headline(page.account, page.lasted_s)
    detail = SEPARATOR.join(filter(None, [page.ran_on, whole, step(page), watching_cost(page.cost)]))
    why = page.ran_on.partition(": ")[2]
    if page.findings:
        first = page.findings[0]
        gain = f"; fixing it {gains}" if (gains := gained(first)) else ""
        return Said(headline(page) + gain, detail=detail, gpu=why)
    if running and not page.parts:
        return Said("No bottleneck found so far; no step has been profiled yet.", detail=step(page))
    so_far = " so far" if running else ""
    return Said(f"No bottleneck found{so_far}.", detail=detail)


def listed_notes(page: Page) -> str:
    """Return what could not be observed, as sentences."""
    return " ".join(f"{capitalized(note)}." for note in page.notes)


def step(page: Page) -> str:
    """Return `a Keras step takes 95.0 ms [93.2 97.1], 1,234 seen, 118 s in total`."""
    steps = page.steps
    if steps.median_s is None:
        return f"{plural(steps.n, 'step')} seen"
    return f"{step_kind(steps)} takes {step_time(steps)}"


def status(page: Page, *, running: bool) -> Status:
    if running:
        ends = len(page.processes) == 1 and account.ending(page.account)
        doing = "ending" if ends else "running"
        return Status("busy", f"{doing}, {rough(page.lasted_s)}", stop=True)
    if page.exit_code is None:
        return Status("quiet", "not started")
    ended = f"by signal {-page.exit_code}" if page.exit_code < 0 else f"with exit code {page.exit_code}"
    return Status("bad" if page.exit_code else "good", f"ended {ended} after {rough(page.lasted_s)}")


def about(finding: Bottleneck) -> tuple[str, str]:
    """Return two texts: the finding's message with the gain from the advised change, and the change."""
    text = f"{capitalized(finding.message)}."
    if finding.part_of:
        text = f"Part of {finding.part_of}: {finding.message}."
    elif gains := gained(finding):
        text += f" Fixing it {gains}."
    change = f"{capitalized(finding.remedy)}." if finding.remedy else ""
    if finding.tried is not None:
        change = f"{capitalized(measured(finding.tried))}. {change}"
    if finding.preset:
        change += f" {{table.preset}} opens {finding.preset}."
    return text, change


def selects(finding: Bottleneck, *, tries: bool, running: bool) -> str:
    """Describe what the select key does with a finding: it tries the change on the program's step, or opens a
    preset.

    tries: True if the change can be tried on the program's step; if False, the text explains why not.
    """
    if tries:
        return "{table.select} measures your step with the change"
    why = "not your step" if running else "your program has ended"
    if not finding.preset:
        return "it has no trial and no preset"
    return f"{{table.select}} opens preset {finding.preset}: {why}"


def trying(finding: Bottleneck, *, captured: bool) -> str:
    """Describe a running trial. captured: whether the program's step has been captured."""
    doing = "measuring your step" if captured else "waiting for the next step"
    return f"{finding.code}: {doing} …, {{table.select}} stops it"


def beside(preset: str) -> str:
    return f"{preset} is a preset with the same problem as your program. It does not run your step."


def saves(finding: Bottleneck) -> str:
    """Return the seconds of the program that the change saves: `3.20 s`, `≤ 3.20 s`, or `–` if unknown."""
    if finding.saves_s is None:
        return "–"
    return "≤ " * finding.if_input_keeps_up + seconds(finding.saves_s)


def program_share(finding: Bottleneck) -> str:
    """Return the share of the program's time that the fix saves, such as `9%`; `–` if unknown."""
    share, tried = finding.program_share, finding.tried
    if tried is not None and tried.program and finding.saves_s is not None:
        share = max(0.0, share_of(tried.program))
    return percent(share) if share is not None else "–"


def gain(finding: Bottleneck, found: Iterable[Bottleneck]) -> str:
    """Return the step's maximum speedup, such as `8.43×`; `–` if unknown.

    If another finding includes this finding's time, the text is `the same` or `1.25× of it`.
    """
    most = at_most(finding).step
    if most is None:
        return "–"
    whole = next((at_most(f).step for f in found if f.code == finding.part_of), None)
    if whole is None:
        return times(most)
    return "the same" if math.isclose(most, whole, rel_tol=1e-3) else f"{times(most)} of it"


@dataclass(frozen=True)
class AccountLine:
    """A visible line in the tree of the program's time. path: the labels from the tree's root to the line."""

    path: tuple[str, ...]
    seconds: float
    share: float
    does: str
    more: bool
    opened: bool

    @property
    def text(self) -> str:
        """The line's label, indented, with `+` or `−` if the line can be opened or closed."""
        mark = ("− " if self.opened else "+ ") if self.more else "  "
        return "  " * (len(self.path) - 1) + mark + (self.path[-1] or "outside your code")


def account_lines(page: Page, opened: Collection[tuple[str, ...]]) -> tuple[AccountLine, ...]:
    """Return the visible lines of the account's tree, longest time first. opened: paths of the opened
    lines.
    """
    root = account.tree(page.account)
    out: list[AccountLine] = []

    def add(line: account.Line, path: tuple[str, ...]) -> None:
        kinds = sorted(line.kinds, key=lambda kind: -line.kinds[kind])
        does = ", ".join([*sorted(line.calls), *(account.WORDS[kind] for kind in kinds)])
        share = line.seconds / root.seconds if root.seconds else 0.0
        shown = path in opened
        out.append(AccountLine(path, line.seconds, share, does, bool(line.inner), shown))
        for inner in line.sorted() if shown else ():
            add(inner, (*path, inner.place))

    outside = account.Line("", sum(root.kinds.values()), root.kinds)
    lines = [*root.inner.values(), *([outside] if root.kinds else [])]
    for line in sorted(lines, key=lambda line: -line.seconds):
        add(line, (line.place,))
    return tuple(out)


def account_kinds(page: Page) -> tuple[tuple[str, float, float], ...]:
    """Return the kinds of activity in words, each with its seconds and its share of the program's time."""
    whole = sum(row.seconds for row in page.account)
    kinds = account.by_kind(page.account).items()
    return tuple((words, spent, spent / whole) for words, spent in kinds)


SQUASHED = 10.0
"""The time axis is logarithmic if the longest step is more than this many times the median."""


def chart(page: Page, steps: Mapping[int, float]) -> Chart:
    known, median = page.steps, page.steps.median_s or 0.0
    # On a linear axis, one long step, such as the last of an epoch, would squash all others.
    log = bool(steps) and min(steps.values()) > 0 and max(steps.values()) > SQUASHED * median > 0
    series = Series(
        "step",
        "step",
        list(steps),
        list(steps.values()),
        arm="step",
        median=known.median_s,
        band=known.ci95_s,
        note=seconds(known.median_s) if known.median_s else "",
    )
    return Chart(
        key="steps",
        series=[series] if steps else [],
        x=PlotAxis("step", "count"),
        y=PlotAxis("time per step", "time", log=log),
    )


NOT_YET = {
    "account": "No time has been accounted for",
    "functions": "No tf.function has been called",
    "processes": "No process has imported TensorFlow",
    "input": "No dataset has been iterated over",
}


def why_empty(part: str, page: Page, *, running: bool) -> str:
    """Explain why a part of the screen is empty. part: findings, steps, parts, ops, functions, stages or
    output.
    """
    if part == "output":
        return (
            "The program has written nothing yet. {watch.type} types a line into it."
            if running
            else "No output: the program wrote none, or its output was not saved."
        )
    if not page.processes:
        return "TensorFlow has not been imported yet." if running else "No process imported TensorFlow."
    if part == "findings":
        if not page.steps.kind or not page.cost.windows:
            return "No finding yet." if running else "No finding; see Notes for what could not be observed."
        return "No bottleneck found" + (" so far." if running else ".")
    if part in NOT_YET:
        return NOT_YET[part] + (" yet." if running else ".")
    if not page.steps.kind:
        return (
            "No step was detected. A tf.function, gradient tape or dataset is recognized at its third use, "
            "a loop of ops after one second."
        )
    if part == "steps":
        seen = f"{plural(page.steps.n, 'step')} seen; the time of each step is not saved."
        return "No step has been timed yet." if running else seen
    if running:
        return "No step has been profiled yet: the first profiler window opens after five steps."
    return next((n for n in page.notes if "window" in n), "No step was profiled.").capitalize() + "."
