"""Formats a comparison of machines as plain text, preset by preset."""

from collections.abc import Sequence

from tuilab.analysis.machines import PresetRows, Row
from tuilab.analysis.words import size
from tuilab.model.machine_summary import Best, Crossed, MachineSummary
from tuilab.model.quantity import median_of, plural
from tuilab.model.verdicts import EMULATED, VERDICTS
from tuilab.report.rows import wrapped
from tuilab.report.text import columns

HEAD = ["machine", "CPU", "GPU", "fastest", "crossover", "claims", "TensorFlow", "measured", ""]


def machines_text(presets: Sequence[PresetRows], most: int = 0) -> str:
    """Return, for each preset, a row per machine, and lines on what the machines disagree about.

    A row ends with the date of the machine's latest run and the reason why this run is doubtful. `!` marks
    different software versions. most: maximum width in columns, 0 for no limit.
    """
    parts = []
    for preset in presets:
        parts += [
            heading(preset),
            *("  " + line for line in columns([HEAD, *map(cells, preset.rows)], most - 2 if most else 0)),
        ]
        parts += [f"  ≠ {sentence}" for sentence in preset.disagreements]
        parts.append("")
    return "\n".join(wrapped(parts[:-1], most))


def heading(preset: PresetRows) -> str:
    """Return a heading such as `stft-small, samples 4096: 3 machines`."""
    named = "".join(f", {name} {value}" for name, value in preset.differing.items())
    return f"{preset.preset}{named}: {plural(len(preset.rows), 'machine')}"


def cells(row: Row) -> list[str]:
    """Return the cells of a machine's row: medians, fastest arm, crossover, and the marks of verdicts."""
    s = row.summary
    return [
        s.machine,
        median(s.on_cpu),
        median(s.on_gpu) + (f" {EMULATED}" if s.on_gpu and any(EMULATED in gpu for gpu in s.gpus) else ""),
        fastest(s),
        crossover(s.crossed),
        verdict_marks(s),
        s.tensorflow,
        s.at[:10],
        ", ".join(filter(None, ["! " + ", ".join(row.unlike) if row.unlike else "", s.disturbed])),
    ]


def fastest(summary: MachineSummary) -> str:
    return summary.best.label if summary.best else ""


def median(best: Best | None) -> str:
    """Return a median such as `483 µs`, with as many digits as its interval supports; a dash if there is
    none.
    """
    if best is None:
        return "–"
    half = (best.high_s - best.low_s) / 2 if best.low_s is not None and best.high_s is not None else None
    return median_of(best.median_s, half)


def crossover(crossed: Crossed | None) -> str:
    """Return the size at the crossover, or why there is no crossover; a dash if there was no sweep."""
    if crossed is None:
        return "–"
    return size(crossed.at) if crossed.at is not None else crossed.status


def verdict_marks(summary: MachineSummary) -> str:
    return "".join(VERDICTS[word].mark for word in summary.verdicts)
