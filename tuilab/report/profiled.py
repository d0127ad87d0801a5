"""Formats a profile as plain text."""

from collections.abc import Iterator

from tuilab.analysis.profiled import by_type, copying
from tuilab.analysis.words import percent
from tuilab.model.account import PHASE_HELP
from tuilab.model.profile import Profile
from tuilab.model.quantity import plural
from tuilab.model.quantity import seconds as shown
from tuilab.report.rows import aligned, wrapped

TOP = 15


def profile_text(profile: Profile, label: str, most: int = 0) -> str:
    """Return the diagnosis, the phases, the devices and the longest ops.

    label: the arm's label. most: maximum width in columns, 0 for no limit.
    """
    return "\n".join(wrapped(_lines(profile, label, most), most))


def _lines(profile: Profile, label: str, most: int) -> Iterator[str]:
    yield from profile.diagnosis
    yield ""
    where = f"{label} on {profile.device or 'no device'}: {shown(profile.measured_s)} a call"
    yield f"{where}; {shown(profile.step_s)} a call under the profiler ({plural(profile.calls, 'call')})"
    yield from aligned(
        [
            (p.phase.replace("_", " "), shown(p.seconds), percent(p.share), PHASE_HELP.get(p.phase, ""))
            for p in sorted(profile.phases, key=lambda p: -p.seconds)
        ],
        most,
    )
    if rest := copying(profile):
        yield f"  {rest}"
    for device in profile.devices:
        busy = f"{device.device} busy for {shown(device.seconds)}"
        yield f"  {busy}, {percent(device.share)} of the call under the profiler"
    yield ""
    rows = by_type(profile.ops)
    yield from aligned(
        [
            (
                row.op,
                row.device,
                f"{row.count:,.1f}×".replace(".0×", "×"),
                shown(row.seconds) if row.seconds else "",
                percent(row.seconds / profile.measured_s) if row.seconds else "",
                f"busy {shown(row.busy_s)}" if row.busy_s > 1.05 * row.seconds else "",
                "in parallel with the call, in the input pipeline"
                if row.phase == "input" and not row.seconds
                else "",
            )
            for row in rows[:TOP]
        ],
        most,
    )
    if len(rows) > TOP:
        yield f"  and {len(rows) - TOP} more op types"
    yield from (f"! {note}" for note in profile.notes)
