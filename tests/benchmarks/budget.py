import statistics
from collections.abc import Sequence

import msgspec


class Row(msgspec.Struct, frozen=True):
    """One row of the table of budgets.

    measured, limit: as text. value, bound: as numbers. met: None if there is no verdict. how: the method, in
    one sentence. detail: further figures.
    """

    budget: str
    limit: str
    measured: str
    met: bool | None
    how: str
    value: float | None = None
    bound: float | None = None
    detail: dict[str, object] = {}


def below(
    budget: str, value: float, bound: float, unit: str, how: str, digits: int = 2, **detail: object
) -> Row:
    shown = f"{value:,.{digits}f}{unit}", f"≤ {bound:,.{digits if bound != int(bound) else 0}f}{unit}"
    return Row(budget, shown[1], shown[0], value <= bound, how, value, bound, dict(detail))


def quantile(values: Sequence[float], share: float) -> float:
    ranked = sorted(values)
    return ranked[min(len(ranked) - 1, max(0, -(-int(share * 1000) * len(ranked) // 1000) - 1))]


def spread(values: Sequence[float]) -> dict[str, object]:
    return {
        "median": statistics.median(values),
        "q1": quantile(values, 0.25),
        "q3": quantile(values, 0.75),
        "n": len(values),
    }
