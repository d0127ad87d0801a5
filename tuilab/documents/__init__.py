"""Turns articles into presets and findings, only by parsing. Code in a document is never run.

reading/      turns bytes into a document (script, notebook, Markdown) with code and prose
interpreter/  works out symbolically what the code would do: a trace of events in order
api/          the public names of TensorFlow, version by version
facts.py      facts about the whole document
example.py    one piece of code, its part of the trace, and the facts
judge/        decides which work each timed region measures
rules/        mistakes that make a measurement wrong, and the comments that suppress them
recognise/    the workloads that an example measures
presets/      those workloads as presets, with the claims of the prose
examine.py    runs all of these steps
report.py     the result of these steps
checker/      the rest of `tuilab check`: many files, settings, baseline, formats, `--fix`

`python -m tuilab.documents FILE` prints a document's trace line by line.
"""

from tuilab.documents.examine import read
from tuilab.documents.presets.toml import dumps, write
from tuilab.documents.report import CheckResult, DocumentReport, ExampleReport, Unresolved
from tuilab.documents.rules import RULES, Finding, Rule

__all__ = [
    "RULES",
    "CheckResult",
    "DocumentReport",
    "ExampleReport",
    "Finding",
    "Rule",
    "Unresolved",
    "dumps",
    "read",
    "write",
]
