"""Formats a run as a self-contained HTML page, without scripts, links or external fonts."""

from collections.abc import Iterable, Sequence
from html import escape

from tuilab.model.result import RunResult
from tuilab.model.run import RunState
from tuilab.report.chart import live_chart
from tuilab.report.rows import (
    ARM_HEAD,
    ROOF_HEAD,
    arm_rows,
    doubtful_line,
    interval_line,
    provenance,
    sections,
)
from tuilab.report.svg import svg
from tuilab.report.sweep import sweep_chart
from tuilab.report.web_page import web_page, wide

MOST_ROWS = 400


def page(result: RunResult, state: RunState) -> str:
    title = result.preset or result.scenario.workload
    body = [f"<h1>{escape(title)}</h1>", f'<p class="answer">{escape(result.answer)}</p>']
    if line := doubtful_line(result):
        body.append(f"<p>{escape(line)}</p>")
    body.append(_plot(result, state))
    body.append(_table(ARM_HEAD, arm_rows(result), numeric=True))
    if line := interval_line(result):
        body.append(f'<p class="dim">{escape(line)}</p>')
    for section in sections(result):
        body.append(f"<h2>{section.title}</h2>")
        if section.head:
            body.append(_table(section.head, section.rows, numeric=section.head is ROOF_HEAD))
            body += [f"<p>{escape(line)}</p>" for line in section.lines]
        else:
            body += ["<ul>", *(f"<li>{escape(line)}</li>" for line in section.lines), "</ul>"]
    if result.placement:
        body += ["<h2>Placement</h2>", _placement(result)]
    body.append(f'<h2>How it was measured</h2><p class="dim">{escape(" ".join(provenance(result)))}</p>')
    return web_page(title, "".join(body))


def _plot(result: RunResult, state: RunState) -> str:
    if result.points:
        caption = f"Seconds per call over {result.axis[0]}, with 95% intervals"
        return _figure(svg(sweep_chart(result)), caption)
    return _figure(svg(live_chart(state)), "Seconds per call of each block, by round")


def _figure(picture: str, caption: str) -> str:
    return f"<figure>{picture}<figcaption>{escape(caption)}</figcaption></figure>" if picture else ""


def _placement(result: RunResult) -> str:
    labels = {arm.id: arm.label for arm in result.arms}
    shown = result.placement[:MOST_ROWS]
    rows = [
        [labels.get(r.arm, r.arm), r.op, r.node, r.device + (f" → {r.to}" if r.to else ""), r.reason]
        for r in shown
    ]
    more = len(result.placement) - len(shown)
    note = f'<p class="dim">{more:,} more rows are in the JSON output.</p>' if more > 0 else ""
    return _table(["arm", "op", "node", "device", "reason"], rows) + note


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], numeric: bool = False) -> str:
    """Return an HTML table.

    numeric: align all columns as numbers, except the first and the last, and wrap cells that contain a
    sentence. In a row without figures, the reason spans the columns of the figures.
    """

    def line(tag: str, row: Sequence[str]) -> str:
        if numeric and not any(row[2:-1]):
            spans = [("", row[0]), (f" colspan={len(row) - 2}", row[1]), ("", row[-1])]
        else:
            figures = [numeric and 0 < i < len(head) - 1 and ", " not in text for i, text in enumerate(row)]
            kinds = [' class="n"' * figure for figure in figures]
            spans = list(zip(kinds, row, strict=True))
        return "<tr>" + "".join(f"<{tag}{kind}>{escape(text)}</{tag}>" for kind, text in spans) + "</tr>"

    body = "".join(line("td", row) for row in rows)
    return wide(f"<table{' class=figures' * numeric}>{line('th', head)}{body}</table>")
