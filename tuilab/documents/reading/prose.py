"""Finds headings in prose, and the example to which each line of prose belongs."""

import re
from collections.abc import Sequence

from tuilab.documents.reading.document import Passage

_ATX = re.compile(r"^\s{0,3}#{1,6}\s+(?P<text>.+?)\s*#*\s*$")
_BOLD = re.compile(r"^\s*(?:[-*+]\s+|\d+[.)]\s+)?(?:\*\*|__)(?P<text>[^*_].{0,200}?)(?:\*\*|__)\s*:?\s*$")
_EXAMPLE = re.compile(
    r"^\s*(?P<text>(?:code\s+)?(?:example|listing|snippet)\s+\d+\b.{0,160})$", re.IGNORECASE
)
_UNDERLINE = re.compile(r"^\s{0,3}(?:={3,}|-{3,})\s*$")
_LEADS_ON = re.compile(
    r":\s*$|\b(?:following|below|next|here's|here is|now let|first|second|third|another)\b", re.IGNORECASE
)
_LONGEST_HEADING = 120


def heading_of(line: str, following: str = "") -> str:
    """Return the text of a heading; "" if the line is not a heading."""
    if len(line) > 2 * _LONGEST_HEADING:
        return ""
    for pattern in (_ATX, _BOLD, _EXAMPLE):
        match = pattern.match(line)
        if match:
            return shorten(match["text"].strip().rstrip(":").strip("*_ "))
    if line.strip() and len(line) <= _LONGEST_HEADING and _UNDERLINE.match(following):
        return shorten(line.strip())
    return ""


def shorten(text: str) -> str:
    if len(text) <= _LONGEST_HEADING:
        return text
    return text[:_LONGEST_HEADING].rsplit(" ", 1)[0] + "…"


def split_between(lines: Sequence[Passage], first: bool) -> tuple[list[Passage], list[Passage], str]:
    """Split the prose between two pieces of code into comments on the first piece, the introduction to the
    second piece, and the heading of the second piece ("" if there is none).

    Without a heading, the last paragraph is the introduction if it contains a word such as "following" or
    ends in a colon. first: True for the prose above the first piece of code, which is all introduction.
    """
    heading, start = "", None
    for index, passage in enumerate(lines):
        following = lines[index + 1].text if index + 1 < len(lines) else ""
        found = heading_of(passage.text, following)
        if found:
            heading, start = found, index
    if start is None:
        start = _last_paragraph(lines)
        text = " ".join(p.text for p in lines[start:])
        if not _LEADS_ON.search(text):
            start = len(lines)
        elif not heading:
            heading = _sentence(text)
    if first:
        return [], list(lines), heading
    return list(lines[:start]), list(lines[start:]), heading


def _last_paragraph(lines: Sequence[Passage]) -> int:
    index = len(lines)
    while index and not lines[index - 1].text.strip():
        index -= 1
    while index and lines[index - 1].text.strip():
        index -= 1
    return index


def _sentence(text: str) -> str:
    sentence = re.split(r"(?<=[.!?])\s+", text.strip()[:1_000])[0]
    return shorten(sentence.rstrip(":. "))
