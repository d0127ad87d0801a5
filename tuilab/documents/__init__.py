"""Articles in, presets and findings out, by parsing alone: nothing in a document is ever run."""

from tuilab.documents.examine import read, read_installed
from tuilab.documents.report import CheckResult, DocumentReport, ExampleReport, Unresolved
from tuilab.documents.rules import RULES, Finding, Rule
from tuilab.documents.toml import dumps, write

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
