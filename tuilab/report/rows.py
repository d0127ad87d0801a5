"""The contents of reports as rows of text, which the module for each format styles."""

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from tuilab.analysis.layers import OUTSIDE, is_precise, layers_at, outside
from tuilab.analysis.ratios import RatioEstimate
from tuilab.analysis.reading import place_words, summary_point
from tuilab.analysis.words import capitalized, first_few, listed, percent, short
from tuilab.analysis.words import size as axis_size
from tuilab.model.account import Part
from tuilab.model.arms import LOCAL, family
from tuilab.model.environment import whose
from tuilab.model.events import CHOSEN
from tuilab.model.models import Layer
from tuilab.model.parameters import Value
from tuilab.model.quantity import (
    HELD,
    as_shown,
    interval,
    keep_on_line,
    limited_share,
    median_of,
    rate,
    seconds,
    size,
)
from tuilab.model.result import ArmResult, Diagnosis, MachineLine, Ratio, RunResult
from tuilab.model.roofline import binding
from tuilab.model.run import RunState
from tuilab.model.verdicts import VERDICTS, verdict_words

CLAIM_HEAD = ["verdict", "claim", "evidence"]
ARM_HEAD = ["arm", "median", "95% interval", "n", "first call", "device"]


def arm_row(arm: ArmResult) -> list[str]:
    """Return an arm's figures, with as many digits as its interval supports; or why the arm has no
    figures.
    """
    if arm.median_s is None:
        why = f"{arm.status}: {arm.reason}" if arm.reason else arm.status
        return [arm.label, why, "", "", "", arm.device or ""]
    between = interval(*arm.ci95_s, like=arm.median_s) if arm.ci95_s else "–"
    first = seconds(arm.first_call_s) if arm.first_call_s is not None else ""
    return [
        arm.label,
        median_of(arm.median_s, arm.half_width_s),
        between,
        str(arm.n),
        first,
        arm.device or "",
    ]


def folded(arms: Sequence[ArmResult], *, going: bool = False) -> list[ArmResult]:
    """Return the arms with figures, then one entry for each reason why other arms lack figures.

    going: True during a run, when only arms that cannot run are merged.
    """
    absent: dict[tuple[str, str], list[ArmResult]] = {}
    for arm in arms:
        if arm.median_s is None and (arm.status == "unavailable" or not going):
            absent.setdefault((arm.status, arm.reason), []).append(arm)
    out = [arm for arm in arms if arm.median_s is not None or (going and arm.status != "unavailable")]
    return out + [replace(alike[0], label=_join_arms(alike)) for alike in absent.values()]


def to_fastest(result: RunResult) -> dict[str, RatioEstimate]:
    """Return, by arm id, each arm's time divided by the time of the fastest arm with the same work.

    If the run compared the two arms, this is the ratio in the answer. It covers the rounds that both arms
    have, so it may differ from the ratio of the medians. Otherwise it is the ratio of the displayed medians,
    without an interval.
    """
    least: dict[str, ArmResult] = {}
    out: dict[str, RatioEstimate] = {}
    for arm in sorted(result.arms, key=lambda arm: (arm.median_s or 0.0, arm.id)):
        if not arm.median_s:
            continue
        first = least.setdefault(arm.does, arm)
        if arm is not first:
            one, other = (as_shown(each.median_s or 0.0, each.half_width_s) for each in (arm, first))
            known = ratio_between(result.ratios, arm.id, first.id)
            out[arm.id] = known or RatioEstimate(one / other, None, None, 0)
    return out


def ratio_between(ratios: Iterable[Ratio], a: str, b: str) -> RatioEstimate | None:
    """Return a's time over b's; None if the run did not compare the two arms.

    The run may have compared them in the opposite order.
    """
    for each in ratios:
        if {each.a, each.b} == {a, b}:
            found = RatioEstimate(each.ratio, *each.ci95, 0, each.paired)
            return found if each.a == a else found.turned
    return None


def arm_rows(result: RunResult) -> list[list[str]]:
    """Return a row for each arm with figures, then a row for each reason why arms have no figures."""
    return [arm_row(arm) for arm in folded(result.arms)]


MOST_APART = 2
"""Maximum number of arms that a row names. A row for more arms contains only their number."""


def _join_arms(arms: list[ArmResult]) -> str:
    """Return text such as `GPU graph`, `GPU graph, GPU xla` or `6 GPU arms`."""
    if len(arms) <= MOST_APART:
        return ", ".join(arm.label for arm in arms)
    kinds = {family(arm.requested_device) for arm in arms}
    return f"{len(arms)} {kinds.pop() if len(kinds) == 1 else ''} arms".replace("  ", " ")


def sweep_rows(result: RunResult) -> tuple[list[str], list[list[str]]]:
    """Return the header and the rows of a sweep's table, with the parameters and each arm's median."""
    measured = {arm.id for point in result.points for arm in point.arms if arm.median_s is not None}
    labels = {arm.id: arm.label for arm in result.arms if arm.id in measured}
    rows = []
    for point in result.points:
        medians = {
            arm.id: median_of(arm.median_s, arm.half_width_s)
            for arm in point.arms
            if arm.median_s is not None
        }
        times = [medians.get(arm, "–") for arm in labels]
        values = [point.values.get(name, "") for name in result.axis]
        sizes = [_size(value) for value in values]
        sizes[-1] += "" if point.finished else " (not finished)"
        rows.append([*sizes, *times])
    return [*result.axis, *labels.values()], rows


def _size(value: Value) -> str:
    """Return a size such as `256k`, never rounded, because neighboring rows must differ."""
    if type(value) is not int:
        return str(value)
    return axis_size(value) if value.bit_count() == 1 else f"{value:,}"


def crossing_lines(result: RunResult) -> list[str]:
    """Return a sentence for each crossover of a sweep, and a sentence about a GPU that the user does not
    have.

    During a run, crossovers that are still unknown are left out.
    """
    crossings = [c for c in result.crossovers if c.status != "unknown" or result.status != "running"]
    lines = [c.sentence for c in sorted(crossings, key=lambda c: c.at is None) if c.sentence]
    if result.sweep_bound is not None and result.roofs:
        lines.insert(1, result.sweep_bound.sentence)
    return lines


def unmeasured_lines(result: RunResult) -> list[str]:
    """Return, for each size, a line per reason why arms have no figure."""
    labels = {arm.id: arm.label for arm in result.arms}
    measured = {arm.id for point in result.points for arm in point.arms if arm.median_s is not None}
    lines = []
    for point in result.points:
        missing: dict[str, list[str]] = {}
        for arm in point.arms:
            if arm.median_s is None and arm.reason and arm.id in measured:
                missing.setdefault(arm.reason, []).append(labels[arm.id])
        place = place_words(tuple((name, point.values.get(name, "")) for name in result.axis))
        for reason, arms in missing.items():
            which = f" for {listed(arms)}" if len(arms) < len(measured) else ""
            lines.append(f"No figure{which} at {place}: {short(reason)}.")
    return lines


ROOF_HEAD = ["arm", "arithmetic", "bytes", "of the roof", "roof", "bound by"]


def roof_rows(result: RunResult) -> list[list[str]]:
    """Return a row that compares an arm with its device's roof, for each measured arm; [] if no roof is
    known.
    """
    rows = []
    for arm in result.arms:
        roof = arm.roof
        if roof is None:
            continue
        done = rate(roof.flop_per_s, "FLOP/s") if roof.flop_per_s else "–"
        done = f"≥ {done}" if roof.uncounted and roof.flop_per_s else done
        moved = rate(roof.bytes_per_s, "B/s") if roof.bytes_per_s else "–"
        # The text after a comma appears below the table, to keep the rows short.
        limit = roof.roof.split(", ")[0] or "–"
        rows.append([arm.label, done, moved, roof.share_words or "–", limit, binding(roof.bound_by)])
    return rows if any(row[4] != "–" for row in rows) else []


MOST_OPS = 3
"""Maximum number of ops that a sentence names."""


def roof_lines(result: RunResult, details: bool = True) -> list[str]:
    """Return sentences that explain the signs ≥, ≤ and ≈ in the tables of roofs and layers.

    details: also name each roof that an arm has exceeded.
    """
    roofs = [arm.roof for arm in result.arms if arm.roof is not None]
    layers = [layer_row(layer) for layer in layers_in(result)]
    signs = {cell[:1] for row in (*roof_rows(result), *layers) for cell in row} & {"≥", "≤", "≈"}
    lines = []
    names = list(dict.fromkeys(name for roof in roofs for name in roof.uncounted))
    meanings = {"≥": "≥ marks a lower limit", "≈": "≈ marks a share that may be too low or too high"}
    if names and (marks := [words for sign, words in meanings.items() if sign in signs]):
        lines.append(
            f"The arithmetic of {first_few(names, MOST_OPS)} is not counted: {', and '.join(marks)}."
        )
    raised = dict.fromkeys(roof.roof for roof in roofs if details and ", which " in roof.roof)
    lines += [f"The roof {words}, is above the measured roof." for words in raised]
    upper = [sign for sign in ("≤", "≈") if sign in signs]
    if upper or any(roof.busy and roof.roof for roof in roofs):
        text = (
            "other processes used this machine while its hardware limits (roofs) were measured, so the "
            "roofs may be too low. A run on the quiet machine measures them again, as does `tuilab machine "
            "--again`."
        )
        lines.append(f"{' and '.join(upper)}: {text}" if upper else capitalized(text))
    return lines


LAYER_HEAD = ["layer", "kind", "of the call", "FLOP", "bytes", "of the roof", "bound by"]
MOST_LAYERS = 10
LEAST_SHARE = 0.001
"""Minimum share of a call for a layer to have its own row."""


def layer_rows(layers: tuple[Layer, ...], most: int | None = None) -> list[list[str]]:
    """Return a row per layer, longest first, then a row for the time outside layers.

    One row sums the layers after the first `most`, and layers that compute nothing and take almost no time.
    """
    if not layers:
        return []
    shown = [layer for layer in layers if layer.share >= LEAST_SHARE or layer.flop][:most]
    rows = [layer_row(layer) for layer in shown]
    if left := layers[len(shown) :]:
        rows.append([f"{len(left):,} more", "", percent(sum(layer.share for layer in left)), "", "", "", ""])
    return [*rows, layer_row(outside(layers))]


def layer_row(layer: Layer) -> list[str]:
    if layer.name == OUTSIDE:
        return [layer.name, "", percent(layer.share), "", "", "", ""]
    least = "≥ " * bool(layer.uncounted)
    flop = least + rate(layer.flop, "FLOP") if layer.flop is not None else "–"
    of_roof = "–"
    if layer.of_roof is not None:
        of_roof = limited_share(layer.of_roof, least=bool(layer.uncounted), most=layer.busy)
    by = binding(layer.bound_by)
    return [layer.name, layer.kind, _share(layer), flop, size(layer.bytes), of_roof, by]


def _share(layer: Layer) -> str:
    """Return the layer's share of a call; a range such as `20–45%` if the share is not precise."""
    low, high = layer.share_range or (layer.share, layer.share)
    return percent(layer.share) if is_precise(layer) else f"{100 * low:.0f}–{percent(high)}"


def layers_in(result: RunResult) -> tuple[Layer, ...]:
    return result.model.layers if result.model is not None else ()


def layers_for(result: RunResult, state: RunState, arm: str) -> tuple[str, tuple[Layer, ...]]:
    """Return the label and the layers of `arm`, or of the arm in the result's `layers_of` if `arm` has no
    layers. The time outside layers comes last.
    """
    own = layers_at(state, state.arms[arm], summary_point(state)) if arm in state.arms else ()
    of = result.model.layers_of if result.model is not None and not own else arm
    layers = own or layers_in(result)
    return state.arms[of].label, (*layers, outside(layers))


def layers_note(result: RunResult) -> list[str]:
    """Return a sentence that explains why there are no layers, or from which calls the layers come; [] if
    neither is needed.
    """
    return [result.model.layers_note] if result.model is not None and result.model.layers_note else []


def layers_title(result: RunResult) -> str:
    of = result.model.layers_of if result.model is not None else ""
    if not of:
        return "Layers"
    label = next((arm.label for arm in result.arms if arm.id == of), of)
    return f"Layers in a call of {label}"


def phase_lines(result: RunResult) -> list[str]:
    """Return two lines for each profiled arm: how its call divides into phases, and how the phases were
    measured.
    """
    lines = []
    for arm in result.arms:
        if arm.account is not None:
            lines += [f"Phases of {phase_line(arm)}", phases_known_from(arm)]
    return lines


def claim_rows(result: RunResult) -> list[tuple[str, str, str]]:
    """Return a row per claim: the verdict with its mark, the claim, and the evidence."""
    return [
        (f"{VERDICTS[c.verdict].mark} {verdict_words(c.verdict, c.emulated, c.apart)}", c.text, c.evidence)
        for c in result.claims
    ]


@dataclass(frozen=True)
class Section:
    """A section of a report: a table, lines, or a table with lines below it."""

    title: str
    lines: Sequence[str] = ()
    head: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()


def sections(result: RunResult) -> list[Section]:
    """Return the sections that follow the figures in a full report. Leaves out empty sections."""
    every = [
        Section("Model", model_lines(result)),
        Section("Sweep", [*crossing_lines(result), *unmeasured_lines(result)], *sweep_rows(result)),
        Section("Share of the hardware limit", roof_lines(result), ROOF_HEAD, roof_rows(result)),
        Section("Where a call's time goes", phase_lines(result)),
        Section(layers_title(result), layers_note(result), LAYER_HEAD, layer_rows(layers_in(result))),
        Section("What to do", advice(result)),
        Section("While the other devices compute", [line.sentence for line in result.contention]),
        Section("Claims", (), CLAIM_HEAD, claim_rows(result)),
        Section("Doubts", doubts(result)),
    ]
    return [section for section in every if section.rows or section.lines]


def advice(result: RunResult) -> list[str]:
    """Return sentences on what limits the arms and how to change it, the most severe limit first.

    Arms with the same limit share a sentence.
    """
    labels = {arm.id: arm.label for arm in result.arms}
    groups: dict[tuple[str, ...], list[Diagnosis]] = {}
    for finding in result.diagnosis:
        # A finding without a share has figures in its sentence, so other arms need their own sentence.
        alike = finding.share and finding.arm in labels
        groups.setdefault((finding.code, finding.remedy, "" if alike else finding.message), []).append(
            finding
        )
    out = []
    for first, *others in groups.values():
        also = listed([f"{labels[other.arm]} ({percent(other.share)})" for other in others])
        out.append(f"{first.message} {f'The same applies to {also}. ' if also else ''}{first.remedy}".strip())
    return out


def doubts(result: RunResult) -> list[str]:
    """Return every caveat as a sentence, preceded by the arm's name if it is about one arm."""
    own = [f"{arm.label}: {flag.message}" for arm in result.arms for flag in arm.flags]
    return [flag.message for flag in result.flags] + own


def provenance(result: RunResult) -> list[str]:
    """Return sentences that describe the work, each machine, and the run."""
    values = ", ".join(f"{name} = {value}" for name, value in result.scenario.parameters.items())
    return [
        f"Workload {result.scenario.workload}: {values}.",
        *(machine_lines(result) or [machine_sentence(result.machine)]),
        f"{result.at}, budget {result.budget}, {result.rounds} rounds in {result.elapsed_s:.1f} s; "
        f"run {result.run}.",
    ]


def machine_lines(result: RunResult) -> list[str]:
    """Return a sentence for each host that measured; [] if only this machine measured."""
    if set(result.machines) <= {""}:
        return []
    return [f"{host or LOCAL}: {machine_sentence(line)}" for host, line in result.machines.items()]


def machine_sentence(machine: MachineLine) -> str:
    """Return `gpu07, AMD EPYC 9554, NVIDIA H200; TensorFlow 2.21.0, Python 3.11.2.`"""
    gpus = ", ".join(machine.gpus) or "no GPU visible"
    versions = whose(machine) or f"TensorFlow {machine.tensorflow}, Python {machine.python}"
    return f"{machine.host}, {machine.cpu}, {gpus}; {versions}."


def sizes_line(result: RunResult) -> str:
    """Return a sentence such as `Measured at batch 32, n 300 (chosen at random).`; "" without sizes."""
    chosen = {
        key.rpartition(CHOSEN)[2].partition("@")[0]: f"{value:,} (chosen at random)"
        for key, value in result.facts.items()
        if CHOSEN in key
    }
    sizes = [
        f"{name.replace('_', ' ')} {value:,}"
        for name, value in result.scenario.parameters.items()
        if isinstance(value, int) and not isinstance(value, bool) and name not in result.axis
    ]
    sizes += [f"{name} {value}" for name, value in chosen.items()]
    return f"Measured at {', '.join(sizes)}." if sizes else ""


def interval_line(result: RunResult) -> str:
    """Return a sentence about the variation that the 95% intervals cover; "" if there are no intervals."""
    sure = result.confidence
    if sure is None or not sure.of:
        return ""
    return f"95% intervals: {sure.of}." + (f" {sure.alike}." if sure.alike else "")


def doubtful_line(result: RunResult) -> str:
    """Return the doubts about the figures in a few words, after `⚠`; "" if there are no doubts."""
    return f"⚠ {result.confidence.badge}" if result.confidence and result.confidence.badge else ""


def no_phases(arm: ArmResult) -> str:
    return arm.reason or (arm.status if arm.status != "ok" else "no phases measured")


def phase_line(arm: ArmResult) -> str:
    """Return `CPU graph: 483 µs = dispatch 110 µs ± 4 µs (23%) + compute 360 µs (75%) + not known 13 µs
    (2%)`.
    """
    account = arm.account
    if account is None:
        return f"{arm.label}: {no_phases(arm)}"
    each = [
        f"{part.phase.replace('_', ' ')} {_give_or_take(part)} ({percent(account.share(part.phase))})"
        for part in account.parts
    ]
    return f"{arm.label}: {median_of(account.total_s, arm.half_width_s)} = {' + '.join(each)}"


def phases_known_from(arm: ArmResult) -> str:
    """Return `Profiled: dispatch, compute; timed apart: python. Profiling took 0.2 s after the rounds.`; ""
    if the arm's phases are unknown.
    """
    if arm.account is None:
        return ""
    sources: dict[str, list[str]] = {}
    for part in arm.account.parts:
        if part.source != "remainder":
            sources.setdefault(part.source, []).append(part.phase.replace("_", " "))
    text = "; ".join(f"{source}: {', '.join(names)}" for source, names in sources.items())
    cost = f"Profiling took {seconds(arm.account.cost_s)} after the rounds" if arm.account.cost_s else ""
    sentences = [arm.account.note, text or "Other parts of a call are unknown", cost]
    return " ".join(f"{capitalized(each)}." for each in sentences if each)


def _give_or_take(part: Part) -> str:
    half = part.half_width_s
    return seconds(part.seconds, half) + (f" ± {seconds(half, half)}" if half else "")


LEAST_CELL = 12
"""Columns are not shortened below this width, in characters."""


def aligned(rows: Sequence[Sequence[str]], most: int = 0) -> Iterator[str]:
    """Yield the rows with aligned columns, without empty columns.

    most: maximum width of a row in characters, 0 for no limit.
    """
    widths = fitted([max(map(len, column)) for column in zip(*rows, strict=True)], most - 2 if most else 0)
    for row in rows:
        cells = [f"{cut(cell, width):<{width}}" for cell, width in zip(row, widths, strict=True) if width]
        yield ("  " + "  ".join(cells)).rstrip()


def fitted(widths: Sequence[int], most: int) -> list[int]:
    """Reduce the largest widths until the columns, with two spaces between them, fit in `most` characters."""
    fitting = list(widths)
    while most and sum(fitting) + 2 * (sum(map(bool, fitting)) - 1) > most and max(fitting) > LEAST_CELL:
        fitting[fitting.index(max(fitting))] -= 1
    return fitting


def cut(text: str, width: int) -> str:
    """Shorten the text to `width` characters, after a whole word, and add `…`. A cut inside a number would
    change its value.
    """
    if len(text) <= width:
        return text
    whole = keep_on_line(text)
    kept = whole[: max(0, width - 1)]
    if not whole.startswith(f"{kept} ") and " " in kept.strip():
        kept = kept.rpartition(" ")[0]
    return kept.rstrip(" ,;:([").replace(HELD, " ") + "…"


def wrapped(lines: Iterable[str], most: int) -> Iterator[str]:
    """Yield the lines, wrapped with hanging indentation.

    most: maximum width in characters, 0 for no wrapping.
    """
    for line in lines:
        if not most or len(line) <= most:
            yield line
            continue
        label = re.match(r" *\S+(?: \S+)? {2,}(?=\S)| *", line)
        yield from wrapped_line(line, most, min(len(label[0]) if label else 0, most // 3))


def wrapped_line(line: str, most: int, hanging: int) -> list[str]:
    """Wrap a line, but neither within a figure with its unit nor within an interval.

    hanging: indentation of all lines after the first, in characters.
    """
    parts = textwrap.wrap(keep_on_line(line), most, subsequent_indent=" " * hanging, break_on_hyphens=False)
    return [part.replace(HELD, " ") for part in parts]


def model_lines(result: RunResult) -> list[str]:
    """Return lines about a model: number of weights, highest throughput, time to a first prediction, and
    notes.
    """
    model = result.model
    if model is None:
        return []
    lines = [f"{model.parameters:,} weights, loaded in {seconds(model.load_s)}."]
    firsts = [arm.first_call_s for arm in result.arms if arm.first_call_s is not None]
    if firsts:
        first = seconds(model.load_s + min(firsts))
        lines[0] += f" The first call completes no earlier than {first} after the file is opened."
    rates = [(arm.examples_per_s, arm.label) for arm in result.arms if arm.examples_per_s]
    if rates and not result.axis:  # in a sweep, these rates are for one size only
        rate, label = max(rates)
        lines.append(f"Highest throughput: {rate:,.0f} examples per second ({label}).")
    if result.batch is not None and result.batch.sentence:
        lines.append(result.batch.sentence)
    return [*lines, *model.said]
