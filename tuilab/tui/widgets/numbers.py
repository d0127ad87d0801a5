"""The table of figures, with a row per arm."""

from collections.abc import Mapping, Sequence

from tuilab.model.quantity import interval, median_of, seconds
from tuilab.model.result import ArmResult
from tuilab.model.roofline import binding
from tuilab.tui.widgets.look import MUTED, STRONG, WARN, Mark, TextStyle
from tuilab.tui.widgets.table import Column, Table


class Numbers(Table[ArmResult]):
    HELP = """\
## The numbers

One row per arm. **median** is the time per call over blocks of many calls, with its 95% interval (valid for
this process at this time, unless several processes measured); **n** is the number of blocks; **one call** is
the median of single synchronized calls; **first call** is the very first call, which traces and compiles.
**of roof** is the share of the hardware limit, **bound by** is the largest part of a call ({view-roofline}
shows both). **ran on** is the device that computed. ⚑ counts the caveats on an arm's figures; the last line
lists the caveats of the row under the cursor.
"""

    def __init__(self, *, empty: str = "No arm has been measured yet.") -> None:
        self._marks: Mapping[str, Mark] = {}
        columns: list[Column[ArmResult]] = [
            Column("arm", self._label, flex=True, most=36, least=20, style=self._style),
            Column("median", median, align="right", key=lambda arm: arm.median_s or 0.0,
                   style=lambda arm: MUTED if arm.median_s is None else STRONG),
            Column("95%", _interval, align="right", drop=1, key=lambda arm: arm.median_s or 0.0,
                   style=_soft),
            Column("n", lambda arm: f"{arm.n:,}" if arm.n else "", align="right", drop=4,
                   key=lambda arm: arm.n),
            Column("one call", lambda arm: _time(arm.latency_s), align="right", drop=5,
                   key=lambda arm: arm.latency_s or 0.0),
            Column("first call", lambda arm: _time(arm.first_call_s), align="right", drop=3,
                   key=lambda arm: arm.first_call_s or 0.0),
            Column("of roof", _of_roof, align="right", drop=6, style=_soft),
            Column("bound by", lambda arm: binding(arm.roof.bound_by) if arm.roof else "", drop=7,
                   style=_soft),
            Column("ran on", lambda arm: arm.device or ("?" if arm.status == "ok" else ""), drop=2,
                   style=lambda arm: WARN if _moved(arm) else MUTED),
            Column("caveats", lambda arm: f"⚑ {len(arm.flags)}" if arm.flags else "", style=lambda _: WARN),
        ]  # fmt: skip
        super().__init__(columns, detail=_detail, noun="row", empty=empty)

    def update_arms(self, arms: Sequence[ArmResult], marks: Mapping[str, Mark]) -> None:
        if list(arms) == list(self.rows) and marks == self._marks:
            return
        self._marks, cursor = marks, self.cursor
        self.set_rows(arms)
        self.cursor = max(0, min(cursor, len(arms) - 1))

    def _label(self, arm: ArmResult) -> str:
        mark = self._marks.get(arm.id)
        return f"{mark.marker} {arm.label}" if mark else arm.label

    def _style(self, arm: ArmResult) -> TextStyle | None:
        mark = self._marks.get(arm.id)
        return mark.style if mark and arm.median_s is not None else MUTED


def _soft(_: ArmResult) -> TextStyle | None:
    return MUTED


def median(arm: ArmResult) -> str:
    """Return the median as text, or the reason why there is none."""
    return arm.why_no_figure if arm.median_s is None else median_of(arm.median_s, arm.half_width_s)


def _interval(arm: ArmResult) -> str:
    return interval(*arm.ci95_s, arm.median_s) if arm.median_s is not None and arm.ci95_s else ""


def _time(value: float | None) -> str:
    return "" if value is None else seconds(value)


def _of_roof(arm: ArmResult) -> str:
    return arm.roof.share_words if arm.roof is not None else ""


def _moved(arm: ArmResult) -> bool:
    return bool(arm.device) and arm.device != arm.requested_device


def _detail(arm: ArmResult) -> str:
    elsewhere = f"requested {arm.requested_device}, ran on {arm.device}" if _moved(arm) else ""
    return "; ".join(said for said in (arm.reason, elsewhere, *(flag.message for flag in arm.flags)) if said)
