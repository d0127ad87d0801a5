"""Export formats of a run, by name."""

from collections.abc import Callable

from tuilab.model.files import indented
from tuilab.model.result import RunResult
from tuilab.model.run import RunState

Writer = Callable[[RunResult, RunState], str]


def _json(result: RunResult, state: RunState) -> str:
    return indented(result) + "\n"


def _csv(result: RunResult, state: RunState) -> str:
    from tuilab.report.csv import samples

    return samples(state)


def _markdown(result: RunResult, state: RunState) -> str:
    from tuilab.report.markdown import document

    return document(result)


def _html(result: RunResult, state: RunState) -> str:
    from tuilab.report.html import page

    return page(result, state)


FORMATS: dict[str, tuple[str, Writer]] = {
    "markdown": (".md", _markdown),
    "html": (".html", _html),
    "csv": (".csv", _csv),
    "json": (".json", _json),
}
"""File suffix and formatting function of each format."""
