"""Articles in, presets and findings out, by parsing alone: nothing in a document is ever run.

reading/      bytes to a document: scripts, notebooks, Markdown; its code, and the prose around it
interpreter/  what the code would do, in order: a trace of events, worked out symbolically
api/          the public names of TensorFlow, version by version
facts.py, example.py   one piece of code, its part of the trace, and what holds for the whole document
rules/        mistakes that make a measurement wrong, and the comments that suppress them
recognise/    the workloads that an example amounts to
presets/      those workloads as presets, with the claims of the prose
examine.py, report.py  all of it in order, and what it gives
checker/      what `tuilab check` has around it: many files, settings, baseline, formats, `--fix`

`python -m tuilab.documents FILE` prints a document's trace line by line.
"""

from tuilab.documents.examine import read, read_installed
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
    "read_installed",
    "write",
]
