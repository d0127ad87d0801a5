"""The base class of all findings: mistakes in documents, doubts about figures, limits, causes.

All findings have the same levels of severity, order and print format. A subclass adds the place of the
finding, and may keep an older field name in JSON.
"""

from typing import Literal

import msgspec

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("note", "warning", "error")


class Found(msgspec.Struct, frozen=True):
    """A finding: a stable code, a sentence with its numbers, and a remedy."""

    code: str
    """A stable name of the finding, for scripts."""
    message: str
    """The finding in a sentence, with its numbers."""
    remedy: str = ""
    """What to do; "" if there is nothing to do."""
    severity: Severity = "warning"
    """error: a figure is wrong, or most of the time is lost. warning: a figure may mislead, or much of the
    time is lost. note: a remark.
    """

    @property
    def words(self) -> str:
        return " ".join(map(sentence, filter(None, (self.message, self.remedy))))

    @property
    def kind(self) -> str:
        """The prefix of the message: `warning: `; "" for an error."""
        return "" if self.severity == "error" else f"{self.severity}: "


def at_least(severity: Severity, least: Severity) -> bool:
    return SEVERITIES.index(severity) >= SEVERITIES.index(least)


def sentence(text: str) -> str:
    """Return the text with a full stop added, unless it already ends a sentence."""
    return text if text.endswith((".", "!", "?", "…", ":")) else f"{text}."
