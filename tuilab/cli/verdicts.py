"""`tuilab verdicts`: measures every preset and prints the verdict on each claim."""

import itertools
import re
import shutil
import textwrap
from collections.abc import Sequence

import click
import msgspec

from tuilab import catalogue
from tuilab.cli import completion
from tuilab.cli.choose import quiet_option
from tuilab.cli.environment import python_option
from tuilab.cli.exits import DONE, INTERRUPTED, WORKER_FAILED
from tuilab.cli.fleet import fleet_options, on_fleet
from tuilab.cli.lab import with_lab
from tuilab.cli.options import emit, one_of
from tuilab.lab import Lab
from tuilab.lab.fleet import Fleet
from tuilab.lab.presets import find_preset
from tuilab.lab.settings import Settings, choose
from tuilab.model.claims import Verdict
from tuilab.model.errors import WorkerError
from tuilab.model.preset import Preset
from tuilab.model.result import RunResult
from tuilab.model.scenario import BUDGETS, BudgetName

INDENT, PRESET_AT, NARROWEST = 14, 11, 60
PROSE = "prose"
SPAN = re.compile(r"\[[\d.,]+ [\d.,]+\]")
"""Matches an interval in the text of the evidence, such as `[1.2 3.4]`."""


class VerdictLine(msgspec.Struct, frozen=True, kw_only=True):
    """One claim in a preset, for scripts. example: the number of the example in the document; 0 for a
    statement in prose.
    """

    document: str
    example: int
    preset: str
    claim: str
    verdict: str
    evidence: str
    interval: str = ""
    """The kind of variation that the 95% intervals in the evidence cover, in words."""


@click.command()
@python_option
@quiet_option
@click.argument("presets", nargs=-1, shell_complete=completion.presets)
@click.option("--budget", type=one_of(BUDGETS), default="quick", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@fleet_options
@click.pass_context
def verdicts(
    ctx: click.Context,
    /,
    presets: Sequence[str],
    budget: BudgetName,
    as_json: bool,
    on: str | None,
    jobs: int,
) -> None:
    """Measure every preset with a claim, or the named PRESETS, and print the verdicts."""
    loaded = catalogue.load()
    names = presets or [p.name for p in loaded.presets if p.claims]
    choices = [choose(find_preset(name)) for name in names]
    for problem in loaded.problems:
        click.echo(f"tuilab: not loaded: {problem}", err=True)
    lines: list[VerdictLine] = []
    if on is not None:
        code = on_fleet(on, jobs, lambda fleet: judge_on(fleet, choices, budget, lines))
    else:
        code = with_lab(lambda lab: judge(lab, choices, budget, lines))
    if as_json:
        emit(lines)
    else:
        click.echo(table(lines, shutil.get_terminal_size().columns))
    ctx.exit(code)


async def judge(lab: Lab, choices: Sequence[Settings], budget: BudgetName, lines: list[VerdictLine]) -> int:
    """Measure the presets one after another and append their verdicts to `lines`; return the exit code.

    If a worker dies, its preset gets no verdict, and a new worker measures the next preset.
    """
    code = DONE
    for number, choice in enumerate(choices, 1):
        preset = choice.preset
        await lab.ready()
        click.echo(f"{preset.name} ({number} of {len(choices)})", err=True)
        try:
            result = await lab.measure(choice, budget=budget)
        except WorkerError as error:
            lines += [line(preset, _undecided(c.text, str(error))) for c in preset.claims]
            code = WORKER_FAILED
            continue
        lines += [line(preset, verdict, result) for verdict in result.claims]
        if result.status == "cancelled":
            return INTERRUPTED
    return code


async def judge_on(
    fleet: Fleet, choices: Sequence[Settings], budget: BudgetName, lines: list[VerdictLine]
) -> int:
    """Measure the presets on a fleet and append the verdicts to `lines`, in the order of the presets;
    return the exit code.
    """
    by_preset: dict[str, list[VerdictLine]] = {}

    def print_verdict(choice: Settings, result: RunResult) -> None:
        by_preset[choice.preset.name] = [line(choice.preset, verdict, result) for verdict in result.claims]

    failed = await fleet.runs(choices, budget, print_verdict)
    code = INTERRUPTED if fleet.stopped else DONE
    for key, why in () if fleet.stopped else failed.items():
        preset, code = choices[key].preset, WORKER_FAILED
        by_preset[preset.name] = [line(preset, _undecided(claim.text, why)) for claim in preset.claims]
    for choice in choices:
        lines += by_preset.get(choice.preset.name, [])
    return code


def _undecided(text: str, why: str) -> Verdict:
    return Verdict(text, "undecided", f"The run did not finish: {why}")


def line(preset: Preset, verdict: Verdict, result: RunResult | None = None) -> VerdictLine:
    source = preset.source
    return VerdictLine(
        document=source.document if source else "",
        example=source.example if source else 0,
        preset=preset.name,
        claim=verdict.text,
        verdict=verdict.verdict,
        evidence=verdict.evidence,
        interval=result.confidence.of if result is not None and result.confidence is not None else "",
    )


def table(lines: Sequence[VerdictLine], width: int) -> str:
    """Return a text that lists each preset with the verdict, text and evidence of its claims. width: in
    columns.
    """
    width = max(NARROWEST, width) - INDENT
    out: list[str] = []
    for (document, example, preset), group in itertools.groupby(
        lines, lambda each: (each.document, each.example, each.preset)
    ):
        where = f"{document} {example or PROSE}" if document else "own"
        out.append(f"{where:<{PRESET_AT}}{preset}")
        for each in group:
            first, *rest = [*textwrap.wrap(each.claim, width), *textwrap.wrap(each.evidence, width)]
            out.append(f"  {each.verdict:<{INDENT - 2}}{first}")
            out += [" " * INDENT + text for text in rest]
    counted = ", ".join(
        f"{sum(each.verdict == word for each in lines)} {word}"
        for word in ("confirmed", "refuted", "impossible", "undecided", "untestable")
    )
    spans = dict.fromkeys(each.interval for each in lines if each.interval and SPAN.search(each.evidence))
    within = f" 95% intervals: {' or '.join(spans)}." if spans else ""
    whole = textwrap.wrap(f"{len(lines)} claims: {counted}.{within}", width + INDENT)
    return "\n".join([*out, "", *whole])
