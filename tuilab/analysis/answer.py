"""Summarizes a run in a few sentences with numbers. Claims no difference that noise could explain."""

from collections.abc import Collection, Sequence

from tuilab.analysis.bound_words import bound_sentence, sweep_sentence
from tuilab.analysis.environments import sentences
from tuilab.analysis.ranking import Ranking, close, copying, failed_arms, first_looks, most_saved, ranked
from tuilab.analysis.ratios import RatioEstimate
from tuilab.analysis.reading import (
    arm_status,
    axes,
    by_rounds,
    comparable,
    compare,
    does,
    emulated_sentence,
    estimate_at,
    has_gpu,
    launches,
    measured,
    name_of,
    no_gpu_sentence,
    op_counts,
    point_words,
    retraced,
    summary_point,
    vanished,
)
from tuilab.analysis.sweeps import crossovers, series_of
from tuilab.analysis.undisturbed import undisturbed
from tuilab.analysis.words import capitalized, first_few, listed, on_axis, percent, short, size
from tuilab.model.account import PHASE_WORDS
from tuilab.model.events import RECORDING_ENDS, RUN_CONTINUES
from tuilab.model.quantity import median_of, plural, seconds
from tuilab.model.result import Crossover
from tuilab.model.run import ArmState, RunState

COPYING = 0.2
MOST_NAMED = 3
HEADLINE = 60
"""Maximum number of characters in the first sentence, to leave room for the key that shows the full text."""


def answer(state: RunState, crossed: Sequence[Crossover] | None = None, against: str = "") -> str:
    """Describe the run's results so far in plain text.

    crossed: the run's crossovers, if already computed. against: data-sheet name of a GPU to compare with; by
    default, a run is compared with a GPU only if its host has none.
    """
    if state.scenario is None:
        return ""
    point = summary_point(state)
    arms = measured(state, point)
    crossed = crossovers(state) if crossed is None else crossed
    without = "" if has_gpu(state) or state.machine is None else no_gpu_sentence(state)
    parts = [_ending(state)]
    if arms:
        parts.append(_traced_anew(state, arms, point))
        parts += _crossings(crossed, state.running)
        lone = arms[0] if len(arms) == 1 else None
        span = _span(state, point, lone) if not crossed else ""
        if not (span and lone and len(axes(state)) == 1):
            parts += sentences(state, point) or at_point(state, point)
        parts.append(span)
        parts.append(_describe_disturbed(state, arms, point))
        parts += [
            _describe_merged(arms),
            _describe_vanished(state, point),
            failures(state, point),
            without,
        ]
        parts += [sweep_sentence(state, against), bound_sentence(state, against), emulated_sentence(state)]
    else:
        # If arms failed, readers want to know why first.
        found = _nothing(state, point)
        parts += [*found, without] if failures(state, point) else [without, *found]
    return " ".join(part for part in parts if part)


def _crossings(crossed: Sequence[Crossover], running: bool) -> list[str]:
    """Describe the first comparison of the sweep's first series, and the crossovers in other series."""
    firsts: dict[str, Crossover] = {}  # by the value of the second axis
    for each in crossed:
        firsts.setdefault(str(each.where), each)
    told = [c for c in crossed[:1] if c.status != "unknown" or not running]
    rest = [c for c in list(firsts.values())[1:] if c.at is not None]
    return [c.sentence for c in (*told, *rest[:MOST_NAMED])]


def timing(arm: ArmState, point: int) -> str:
    """Return `0.48 ms [0.47 0.50]`, without the interval if there is none."""
    estimate = estimate_at(arm, point)
    return "not timed" if estimate is None else estimate.with_interval


def _ending(state: RunState) -> str:
    after = f"after {plural(state.rounds, 'round')}" if state.rounds else "before the first round"
    if state.status == "cancelled" and state.message in (RECORDING_ENDS, RUN_CONTINUES):
        return f"{capitalized(after)}, {state.message}."
    if state.status == "cancelled":
        return f"Stopped {after}."
    if state.status == "failed":
        reason = short(state.message)
        return f"The run failed {after}: {reason}." if reason else f"The run failed {after}."
    return ""


def at_point(state: RunState, point: int) -> list[str]:
    """Describe each group of arms that do the same work."""
    groups = comparable(state, point)
    out: list[str] = []
    for group in groups:
        lines = [part for part in _figures(state, group, point) if part]
        if len(groups) > 1 and (kind := does(group[0], point)):
            # After the name of the work and a colon, a word such as `One` or `So` must not be capitalized.
            first = (
                lines[0][:1].lower()
                if lines[0].startswith(("One graph", "Eager", "So far", "At "))
                else lines[0][:1]
            )
            lines[0] = f"{_capital(kind, keep=False)}: {first}{lines[0][1:]}"
        out += lines
    return out


def _describe_disturbed(state: RunState, arms: list[ArmState], point: int) -> str:
    slowed = [(arm, apart) for arm in arms if (apart := undisturbed(state, arm, point)) is not None]
    if not slowed:
        return ""
    lines = [f"{name_of(arm, point)}: {apart.sentence}" for arm, apart in slowed[:MOST_NAMED]]
    more = f" ({len(slowed) - MOST_NAMED} more arms)" if len(slowed) > MOST_NAMED else ""
    return _capital(" ".join(f"{part}." for part in lines) + more, keep=bool(slowed[0][0].arm.host))


def _traced_anew(state: RunState, arms: list[ArmState], point: int) -> str:
    """Describe the arms that spend most of their time on retracing; they are excluded from comparisons."""
    retraced_arms = [arm for arm in arms if retraced(arm, point)]
    if not retraced_arms:
        return ""
    verb = "is" if len(retraced_arms) == 1 else "are"
    why = retraced(retraced_arms[0], point).rstrip(".")
    so_far = "So far " if state.running else ""
    return f"{so_far}{_named_with_times(retraced_arms, point)} {verb} not compared: {why}."


def _figures(state: RunState, arms: list[ArmState], point: int) -> list[str]:
    place = _place(state, point)
    if not has_gpu(state) and not place and (sentence := _graph_against_eager(state, arms, point)):
        return [sentence]
    ranking = ranked(arms, point)
    lead = place + _lead(state, ranking, point)
    behind = [_next(ranking, point)] if len(ranking.tied) < len(ranking.arms) else []
    return [lead, *behind, _describe_noisy(ranking.wild, point), _too_few(ranking.few, point)]


def _describe_noisy(arms: list[ArmState], point: int) -> str:
    if not arms:
        return ""
    verb = "varies" if len(arms) == 1 else "vary"
    return f"{_named_with_times(arms, point)} {verb} too much to compare."


def _named_with_times(arms: list[ArmState], point: int) -> str:
    return first_few([f"{name_of(arm, point)} ({timing(arm, point)})" for arm in arms], MOST_NAMED)


def _too_few(arms: list[ArmState], point: int) -> str:
    if not arms:
        return ""
    named = listed([name_of(arm, point) for arm in arms[:MOST_NAMED]] + ["others"] * (len(arms) > MOST_NAMED))
    return f"{named} {'has' if len(arms) == 1 else 'have'} too few rounds to compare."


def _place(state: RunState, point: int) -> str:
    words = point_words(state, point, axes(state))
    return f"At {words} " if words else ""


def _span(state: RunState, point: int, lone: ArmState | None) -> str:
    """Describe an arm's time at the smallest and the largest size. A single arm is also described at the
    scenario's size.
    """
    for series in series_of(state)[:1]:
        arm = lone or series.best(series.everyone())
        sizes = [place for place, arms in series.arms.items() if arm in arms]
        if arm is None or len(sizes) < 2:
            break
        named_sizes = [sizes[0], sizes[-1]]
        if lone:
            named_sizes += [place for place in sizes[1:-1] if series.points[place] == point]
        parts = [
            f"{timing(arm, series.points[s])} at {on_axis(series.axis, size(s))}" for s in sorted(named_sizes)
        ]
        so_far = "So far " if state.running else ""
        return f"{so_far}{arm.label} takes {listed(parts)}."
    return ""


def _lead(state: RunState, ranking: Ranking, point: int) -> str:
    arms, tied = ranking.arms, ranking.tied
    first = name_of(arms[0], point)
    so_far = "so far " if state.running else ""
    # Keep the case of a host name.
    keep = bool(_place(state, point)) or bool(arms[0].arm.host and not so_far)
    if len(arms) == 1:
        return _capital(f"{so_far}{first} takes {timing(arms[0], point)}.", keep=keep)
    if len(tied) == 1:
        among = " of the distinguishable arms" if ranking.apart else ""
        return _capital(f"{so_far}{first} is fastest{among}: {timing(arms[0], point)}.", keep=keep)
    ratios = [compare(arm, arms[0], point) for arm in tied[1:]]
    unseen = brief = ""
    if any(each is not None and each.is_slower for each in ratios):
        spans = [each.interval for each in ratios if each is not None and each.interval is not None]
        verb = f"are within {percent(max(max(high, 1 / low) for low, high in spans) - 1)} of each other"
    else:
        if not all(close(arm, arms[0], point) for arm in tied[1:]):
            verb = "cannot be told apart within the noise"
            if all(each is None or each.least is None or each.least >= HOPELESS for each in ratios):
                verb = TOO_FEW
            verb = "cannot be told apart yet" if state.running else verb
        elif len(tied) == len(arms):
            verb = "are equal within the noise"
        else:
            verb, brief = "are fastest, equal within the noise", "are equal within the noise"
        unseen = "" if state.running else _unseen(ratios)
    names = [name_of(arm, point) for arm in tied]
    head = f"{so_far}{listed(names)} {verb}."
    if len(head) > HEADLINE:
        every = "both" if len(tied) == 2 else f"all {len(tied)}"
        which = every if len(tied) == len(arms) else f"the {len(tied)} fastest"
        head, keep = f"{so_far}{which} arms {brief or verb}.", bool(_place(state, point))
    more = f" and {len(tied) - MOST_NAMED} more" if len(tied) > MOST_NAMED else ""
    first, *others = [timing(arm, point) for arm in tied[:MOST_NAMED]]
    figures = [f"{names[0]} takes {first}", *map(" ".join, zip(names[1:], others, strict=False))]
    text = f"{', '.join(figures)}{more}{unseen}."
    return f"{_capital(head, keep=keep)} {_capital(text, keep=bool(arms[0].arm.host))}"


TOO_FEW = "have too few rounds to compare"
HOPELESS = 9.0
"""If the smallest detectable difference is at least this factor, it is too large to be useful and is not
reported.
"""


def _unseen(found: Sequence[RatioEstimate | None]) -> str:
    known = [each.least for each in found if each is not None and each.least is not None]
    if not known or min(known) >= HOPELESS:
        return ""
    least = max(known)
    if least >= HOPELESS:
        return "; some have too few rounds to compare"
    amount = percent(least) if least < 1 else f"{1 + least:.2g}×"
    return f"; a difference below {amount} would have gone undetected"


def _capital(text: str, keep: bool) -> str:
    return text if keep else capitalized(text)


def _next(ranking: Ranking, point: int) -> str:
    """Compare the fastest arm with the fastest arm on the other kind of device, or else with the
    runner-up.
    """
    arms, tied, arm = ranking.arms, ranking.tied, ranking.runner_up(point)
    found = compare(arm, arms[0], point)
    if found is None:
        return ""
    apart = by_rounds(found, arm, arms[0], point)
    than = f" than {name_of(arms[0], point)}" if len(tied) > 1 else ""
    ratio = f", {found.words} slower{than} {found.span}".rstrip()
    if found.interval is not None and not found.is_informative:
        ratio = apart = ""
    share = copying(arm, point)
    copies = f"; {percent(share)} of it is copying" if share >= COPYING else ""
    return f"{name_of(arm, point)} {timing(arm, point)}{ratio}{copies}{apart}."


def _graph_against_eager(state: RunState, arms: list[ArmState], point: int) -> str:
    """On a host without a GPU, describe how much time a graph saves compared with eager execution."""
    if len({(arm.arm.dtype, arm.arm.variant) for arm in arms}) > 1:
        return ""
    eager = next((arm for arm in arms if arm.arm.mode == "eager"), None)
    graph = next((arm for arm in arms if arm.arm.mode != "eager"), None)
    ratio = compare(eager, graph, point) if eager is not None and graph is not None else None
    if eager is None or graph is None or ratio is None or ratio.interval is None:
        return ""
    what = "one graph" if graph.arm.mode == "graph" else "XLA"
    lead = _capital(f"{'so far ' if state.running else ''}{what}", keep=False)
    contradicted = (ratio.ratio < 1) != (arms.index(eager) < arms.index(graph))
    if not ratio.sign or contradicted:
        verb = f"{'are equal' if ratio.alike else 'cannot be told apart'} within the noise"
        if ratio.least is not None and ratio.least >= HOPELESS:
            verb = "cannot be told apart yet" if state.running else TOO_FEW
        unseen = "" if state.running else _unseen([ratio])
        return f"{lead} and eager {verb}. {_against(graph, eager, point)}{unseen}."
    apart = by_rounds(ratio, eager, graph, point)
    if ratio.ratio < 1:
        eager_is = (
            f"{'So far eager' if state.running else 'Eager'} is {ratio.turned.words} faster than {what}"
        )
        return f"{eager_is} {ratio.turned.span}. {_against(eager, graph, point)}{apart}."
    ops = _ops(state, eager, graph, point, apart)
    return f"{lead} is {ratio.words} faster than eager {ratio.span}. {_against(graph, eager, point)}{ops}"


def _against(one: ArmState, other: ArmState, point: int) -> str:
    return f"On the CPU {timing(one, point)} against {timing(other, point)}"


def _ops(state: RunState, eager: ArmState, graph: ArmState, point: int, apart: str) -> str:
    """Explain a graph's speedup by the number of ops that it launches. apart: a clause to append."""
    before, after = op_counts(eager, point), op_counts(graph, point)
    many, left = sum(before.values()), sum(after.values())
    if graph.arm.mode == "xla":
        fewer = f": it launches one program instead of {plural(many, 'op')}" if after and many > 1 else ""
        return f"{fewer}{apart}."
    # Launching slightly fewer ops does not explain the speedup, but launching at most half as many may.
    if after and many >= 2 * left:
        lead = ":"
    else:
        saved = _describe_saving(eager, graph, point)
        if not after or many <= left:
            return f": {saved}{apart}." if saved else f"{apart}."
        lead = f": {saved};" if saved else ";"
    text = f"{lead} it launches {launches(graph, point)} instead of {many:,}{apart}."
    if _has_gpu_kernels(state, graph, after):
        which = "Both" if left == 2 else f"All {left}"
        text += f" {which} have GPU kernels." if left > 1 else " It has a GPU kernel."
    return text


def _describe_saving(eager: ArmState, graph: ArmState, point: int) -> str:
    """Return the part of a call in which the graph saves most: `dispatch takes 560 µs instead of 3.77 ms`; ""
    if no part accounts for half of the saving.
    """
    saving = most_saved(eager, graph, point)
    if saving is None:
        return ""
    part, other = saving
    one, instead = (seconds(each.seconds, each.half_width_s) for each in (other, part))
    return f"{PHASE_WORDS.get(part.phase, part.phase)} takes {one} instead of {instead}"


def _has_gpu_kernels(state: RunState, graph: ArmState, ops: Collection[str]) -> bool:
    facts = {fact.name: fact.value for fact in [*state.facts, *graph.facts]}
    if facts.get("host-only-ops") == 0:
        return True
    return all(facts.get(f"kernel:{op}:{graph.arm.dtype}:GPU") is True for op in ops)


def failures(state: RunState, point: int) -> str:
    failed = failed_arms(state, point)
    if not failed:
        return ""
    arm, status, reason = failed[0]
    verb = "failed" if status == "failed" else "cannot run"
    if len(failed) == 1:
        return f"{arm.label} {verb}: {short(reason)}." if reason else f"{arm.label} {verb}."
    named = listed([arm.label for arm, _, _ in failed[:MOST_NAMED]] + ["more"] * (len(failed) > MOST_NAMED))
    if len({(status, reason) for _, status, reason in failed}) == 1:
        return f"{named} {verb}: {short(reason)}." if reason else f"{named} did not run."
    if len({status for _, status, _ in failed}) == 1 and reason:
        return f"{named} {verb}; {arm.label}: {short(reason)}."
    return f"{named} did not run."


def _describe_merged(arms: list[ArmState]) -> str:
    """Return a note if a graph merges duplicate ops that are a large part of the requested work; else ""."""
    messages = {arm.label: f.message for arm in arms for f in arm.flags if f.code == "merged"}
    if not messages:
        return ""
    return f"In {listed(list(messages)[:MOST_NAMED])} {short(next(iter(messages.values())))}."


def _describe_vanished(state: RunState, point: int) -> str:
    gone = [(arm.label, why) for arm in state.arms.values() if (why := vanished(state, arm, point))]
    if not gone:
        return ""
    named = listed([label for label, _ in gone[:MOST_NAMED]] + ["more"] * (len(gone) > MOST_NAMED))
    verbs = ("does", "is") if len(gone) == 1 else ("do", "are")
    return f"{named} {verbs[0]} not do the requested work and {verbs[1]} not compared: {short(gone[0][1])}."


def _nothing(state: RunState, point: int) -> list[str]:
    """Describe the run's current activity, or why it has no figures."""
    failed = failures(state, point)
    if state.running and not _describe_vanished(state, point):
        stage = (short(state.progress.stage) if state.progress else "starting") + _describe_preparation(
            state, point
        )
        look = _first_look(state, point)
        return [f"{look} {_capital(stage, keep=False)}." if look else f"No figure yet: {stage}.", failed]
    texts = [short(fact.text) for fact in state.every_fact]
    texts = [text for text in dict.fromkeys(texts) if text]
    if texts and state.status == "ok":
        return [f"No arm was timed. Observed: {'; '.join(texts[:MOST_NAMED])}.", failed]
    if gone := _describe_vanished(state, point):
        return ["No figure is valid.", gone]
    if failed:
        return ["Nothing was measured.", failed]
    reasons = {arm_status(state, arm, point) for arm in state.arms.values()}
    if len(reasons) == 1:
        status, reason = reasons.pop()
        if status == "unavailable" and state.machine is not None and not has_gpu(state):
            return ["Nothing was measured: only GPU arms were chosen. Set the device to both, or CPU."]
        return [f"Nothing was measured: {short(reason)}."] if reason else ["Nothing was measured."]
    return ["Nothing was measured."]


def _first_look(state: RunState, point: int) -> str:
    figures = [f"{name_of(arm, point)} {median_of(best)}" for arm, best in first_looks(state, point)]
    return f"First look (not counted): {listed(figures[:MOST_NAMED])} per call at best." if figures else ""


def _describe_preparation(state: RunState, point: int) -> str:
    """Return the number of the arm that is being prepared, `2 of 5`; "" for the first arm, and after the
    last.
    """
    arms = [
        arm
        for arm in state.arms.values()
        if arm_status(state, arm, point)[0] not in ("unavailable", "failed")
    ]
    ready = sum(point in arm.cells and arm.cells[point].first_s is not None for arm in arms)
    warming = state.progress is not None and state.progress.stage == "warming up"
    return f", {ready + 1} of {len(arms)}" if 0 < ready < len(arms) and not warming else ""
