"""Compares the analysis's figures and sentences for random samples with the stored ones.

`--snapshot-update` renews the stored figures and sentences after a review.
"""

import dataclasses
import math
import random
from collections.abc import Iterator

import msgspec

from tests.made import profile
from tests.report.test_whole_reports import Text
from tuilab.analysis import caveats, profiled
from tuilab.analysis.phases import copy_cost
from tuilab.analysis.processes import middle_of_processes
from tuilab.analysis.ratios import ratio
from tuilab.analysis.statistics import chi_squared_tail, estimate, locate, rank_autocorrelation, t_quantile
from tuilab.model.account import PHASE_HELP
from tuilab.model.profile import OpTime, PhaseTime


def samples(draw: random.Random) -> list[float]:
    """Return a series that may drift, jump between two levels, repeat values, or have outliers."""
    n, noise = draw.choice((1, 2, 5, 6, 9, 12, 30, 60, 700)), draw.choice((0.001, 0.02, 0.3))
    drift, high = draw.choice((0.0, 0.0, 0.3, -1.2)), draw.choice((1.0, 1.0, 1.3))
    middle, wild = 10 ** draw.uniform(-6, 2), draw.choice((0.0, 0.0, 0.1))
    out, last = [], 0.0
    for i in range(n):
        last = 0.5 * last + draw.gauss(0, noise)
        level = (
            middle
            * math.exp(last + drift * i / n)
            * draw.choice((1.0, high))
            * (9 if draw.random() < wild else 1)
        )
        out.append(float(f"{level:.{draw.choice((2, 6))}g}"))
    return out


def told(found: object) -> str:
    """Return the text of a value, or of all fields of a result, with six significant digits."""
    if isinstance(found, float):
        return f"{found:.6g}"
    if dataclasses.is_dataclass(found) or isinstance(found, msgspec.Struct):
        names = [
            field.name
            for field in (dataclasses.fields if dataclasses.is_dataclass(found) else msgspec.structs.fields)(
                found
            )
        ]
        return f"({', '.join(told(getattr(found, name)) for name in names)})"
    if isinstance(found, list | tuple):
        return f"({', '.join(map(told, found))})"
    return str(found)


def test_figures_of_drawn_series(snapshot):
    out = []
    for seed in range(80):
        draw = random.Random(seed)
        one = samples(draw)
        found = (estimate(one), locate(one), rank_autocorrelation(one) if len(one) > 3 else None)
        doubts = [
            each.message for test in (caveats.outliers, caveats.levels, caveats.drift) if (each := test(one))
        ]
        other = {
            i: each * math.exp(draw.gauss(draw.choice((0, 0.5)), 0.05))
            for i, each in enumerate(one)
            if draw.random() < 0.9
        }
        logs = [math.log(each) for each in one]
        zygotes = [draw.choice((-1, 0, 1)) for _ in logs]
        out += [f"{seed} {len(one)}: {told(found)} {told(ratio(dict(enumerate(one)), other))}"]
        if len(one) >= 12:
            out += [f"  {told(middle_of_processes(logs))} {told(middle_of_processes(logs, zygotes))}"]
        out += [f"  ! {each}" for each in doubts]
    assert "\n".join(out) == snapshot(extension_class=Text)


def test_distributions(snapshot):
    quantiles = [
        f"t {df} {p}: {told(t_quantile(p, df))}"
        for df in (1, 2, 3, 4, 7, 12, 40, 300)
        for p in (0.6, 0.9, 0.975, 0.9995)
    ]
    tails = [
        f"chi {df} {x}: {told(chi_squared_tail(x, df))}"
        for df in (1, 2, 3, 4, 5, 8)
        for x in (0.1, 1.0, 4.0, 30.0)
    ]
    assert "\n".join([*quantiles, *tails]) == snapshot(extension_class=Text)


def test_disturbances_and_copies_and_profiles(snapshot):
    assert "\n".join(observed()) == snapshot(extension_class=Text)


def observed() -> Iterator[str]:
    for seed in range(60):
        draw = random.Random(seed)
        names = (
            caveats.Pressure.__dataclass_fields__
            if dataclasses.is_dataclass(caveats.Pressure)
            else caveats.Pressure._fields
        )
        some = {name: draw.choice((None, 0.0, draw.uniform(0, 3), draw.uniform(0, 300))) for name in names}
        seen = caveats.Pressure(**{**some, "wall_s": draw.choice((1.0, 2.0)), "cores": draw.choice((1, 4))})
        yield f"{seed} {told(caveats.contention(seen))}"
        sizes = [4.0**n for n in range(draw.randint(1, 9))]
        costs = [1e-5 + draw.choice((0.0, 1e-7)) * size * math.exp(draw.gauss(0, 0.1)) for size in sizes]
        yield f"  {told(copy_cost(sizes, costs))}"
        phases = draw.sample(sorted(PHASE_HELP), draw.randint(1, 5))
        shares = [draw.random() for _ in phases]
        ops = tuple(
            OpTime(op=draw.choice(("MatMul", "Cast", "Relu")), name=f"n{i}", device=draw.choice(("CPU:0", "GPU:0")), phase=draw.choice(phases),
                   count=draw.choice((1.0, 40.0)), seconds=draw.random() / 500, busy_s=draw.random() / 500)
            for i in range(draw.choice((0, 3, 300)))
        )  # fmt: skip
        parts = tuple(
            PhaseTime(phase=p, seconds=s / 1e3 / sum(shares), share=s / sum(shares))
            for p, s in zip(phases, shares, strict=True)
        )
        known = profile(
            device=draw.choice(("CPU:0", "GPU:0")), phases=parts, ops=ops, ops_s=sum(op.seconds for op in ops)
        )
        yield f"  {' | '.join(profiled.diagnose(known))} | {told(profiled.by_type(ops))}"
