"""Findings about loops that call Keras, rebuild a model or save it in each iteration. Pure functions."""

from collections.abc import Iterator, Sequence

from tuilab.model.program import AccountKind, Bottleneck
from tuilab.model.quantity import plural, seconds
from tuilab.program.case import Case
from tuilab.program.effects import fed_back
from tuilab.program.findings.common import BETWEEN, RETRACING, finding
from tuilab.program.findings.python import between
from tuilab.program.sites import (
    MANY_TRACES,
    METHODS,
    Site,
    called,
    calls_of_models,
    line_s,
    rebuilt,
    sites_of,
    steps_of_a_call,
)

MANY_CALLS, FEW_STEPS, PER_ROW = 10, 2.5, 0.05
"""Calls to Keras in a loop are reported if there are at least this many, with at most this many steps each,
and with at least this share of the program's time outside their graphs.
"""
RUNNING: tuple[AccountKind, ...] = ("graphs", "eager", "input")
FEW_ROWS = 64
"""A call whose number of steps is unknown counts as small up to this many samples, two of Keras' default
batches.
"""


def call_sites(case: Case) -> Iterator[Bottleneck]:
    """Yield a finding for loops that call predict, evaluate or fit for little more than one step each."""
    sites = sites_of(case)
    each = steps_of_a_call(case, sites)
    # Calls cannot be merged if each iteration builds a new model.
    anew = {found.loop for found in rebuilt(case, sites)}
    for site in sites:
        method = METHODS.get(site.call)
        if method is None or not site.loop[1] or site.loop in anew or site.count < MANY_CALLS:
            continue
        steps = each.get(site.call)
        if steps is None and not 0 < site.samples <= FEW_ROWS * site.count:
            continue
        lost = site.overhead_s - (steps.seconds * site.count if steps else 0.0)
        if (steps and steps.n > FEW_STEPS) or lost < PER_ROW * case.lasted_s:
            continue
        fed = method == "predict" and fed_back(case.sources, *site.at)
        text = f"{called(site)}: each call builds a pipeline for little more than one step"
        advice = "predict, fed back" if fed else method
        # A single call for all rows may also need less computing time.
        most_s = line_s(sites, site)
        yield finding(case, "between-steps", site.at, text, advice=advice, spent_s=lost, most_s=most_s)


def rebuilding(case: Case) -> Iterator[Bottleneck]:
    """Yield a finding for models, layers and optimizers that a loop rebuilds in each iteration."""
    sites, loops = sites_of(case), set[tuple[str, int]]()
    each = steps_of_a_call(case, sites)
    for found in rebuilt(case, sites):
        loops.add(found.loop)
        share = found.spent_s / case.lasted_s if case.lasted_s > 0 else 0.0
        if share < RETRACING:
            continue
        text = f"the model is {found.what} again in each iteration of the loop on line {found.loop[1]}"
        text += f": {plural(found.traces, 'trace')} in {plural(found.times, 'round')}"
        # The first calls of a rebuilt model are slow as well.
        around = sum(
            max(0.0, site.overhead_s - (each[site.call].seconds * site.count if site.call in each else 0.0))
            for site in sites
            if site.loop == found.loop and site.call in METHODS
        )
        yield finding(case, "rebuilt", found.at, text, spent_s=found.spent_s, most_s=found.spent_s + around)
    for loop in {site.loop for site in sites if site.loop[1]} - loops:
        inside = [site for site in sites if site.loop == loop]
        spent = sum(site.kinds["building"] for site in inside)
        # A loop that only adds layers builds one model. A loop that also runs steps builds a model per
        # iteration.
        runs = sum(site.kinds[kind] for site in inside for kind in RUNNING)
        if spent < RETRACING * case.lasted_s or runs < spent / 10 or not _again(case, inside):
            continue
        # this may be a few training runs, each with its own model
        if 0 < max(site.count for site in inside) < MANY_TRACES:
            continue
        most = max(inside, key=lambda site: site.kinds["building"])
        text = (
            f"layers, models or optimizers are built in the loop on line {loop[1]}, which also runs steps: "
        )
        text += seconds(spent)
        # The maximum also covers variables that a new object creates in its first ops, such as an optimizer's
        # first update.
        most_s = sum(site.total_s for site in inside if site.kinds["building"])
        yield finding(case, "rebuilt", most.at, text, advice="rebuilt, a part", spent_s=spent, most_s=most_s)


def _again(case: Case, inside: Sequence[Site]) -> bool:
    """Return True if the loop built an object after it had run steps, so it must have iterated at least
    twice.
    """
    spans = case.of.spans
    built = [spans["building", site.at][1] for site in inside if ("building", site.at) in spans]
    ran = [spans[kind, site.at][0] for site in inside for kind in RUNNING if (kind, site.at) in spans]
    return bool(built and ran) and max(built) > min(ran)


def model_calls(case: Case) -> Iterator[Bottleneck]:
    sites = sites_of(case)
    for site in calls_of_models(case):
        took = site.kinds["eager"]
        if not site.loop[1] or site.count < MANY_CALLS or took < PER_ROW * case.lasted_s:
            continue
        if site.samples > FEW_STEPS * site.count:
            continue
        rows = round(site.samples / site.count)
        each = f", {'a row' if rows == 1 else f'{rows} rows'} at a time" if rows else ""
        text = f"the model is called {plural(site.count, 'time')}{each}, and runs op by op: {seconds(took)}"
        advice, most_s = "eager-step, a model", max(took, line_s(sites, site))
        yield finding(case, "eager-step", site.at, text, advice=advice, spent_s=took, most_s=most_s)


def saving(case: Case) -> Iterator[Bottleneck]:
    """Yield a finding for models and checkpoints that are saved repeatedly."""
    for site in sites_of(case):
        took = site.kinds["saving"]
        if not site.loop[1] and site.call not in METHODS:
            continue
        if site.count == 1 or took < BETWEEN * case.lasted_s:
            continue
        if site.call in METHODS and any(each.at == site.at for each in between(case)):
            continue  # `between` reports callbacks that save
        times = f" {plural(site.count, 'time')}" * (site.call not in METHODS and site.count > 0)
        text = f"saving takes {seconds(took)}{times}"
        yield finding(case, "saving", site.at, text, spent_s=took)
