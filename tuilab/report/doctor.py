"""The doctor's findings as plain text."""

import textwrap

from tuilab.model.doctor import DoctorReport, Probe

LABEL = 8
"""Width of the column of labels, in characters."""


def doctor_text(report: DoctorReport, width: int) -> str:
    """Return the answer, its cause and the fix, then an aligned table of the probes.

    Commands are not wrapped, so that users can copy them.
    """
    width = max(width, 50)
    out = [_row("GPU", "visible to TensorFlow" if report.gpu_visible else "not visible to TensorFlow", width)]
    out.append(_row("cause", report.cause, width))
    if report.mend:
        out.append(f"{'fix':<{LABEL}}{report.mend}")
    for further in report.further:
        out += ["", _row("then", further.message, width)]
        if further.remedy:
            out.append(f"{'fix':<{LABEL}}{further.remedy}")
    return "\n".join([*out, "", *_table(report.probes, width)])


def _row(label: str, words: str, width: int) -> str:
    lines = textwrap.wrap(words, width - LABEL, break_long_words=False, break_on_hyphens=False) or [""]
    return "\n".join(f"{label if i == 0 else '':<{LABEL}}{line}" for i, line in enumerate(lines))


def _table(probes: tuple[Probe, ...], width: int) -> list[str]:
    name = max(len(probe.name) for probe in probes) + 2
    out = []
    for probe in probes:
        room = max(width - LABEL - name, 30)
        lines = textwrap.wrap(probe.detail, room, break_long_words=False, break_on_hyphens=False) or [""]
        out.append(f"{probe.status:<{LABEL}}{probe.name:<{name}}{lines[0]}")
        out += [" " * (LABEL + name) + line for line in lines[1:]]
    return out
