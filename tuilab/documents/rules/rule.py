"""What a rule is, and what it finds."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import msgspec

from tuilab.documents.example import Example


class Finding(msgspec.Struct, frozen=True):
    """Something wrong with an example as a measurement. code: stable. line: in the document."""

    code: str
    line: int
    message: str
    remedy: str


@dataclass(frozen=True)
class Hit:
    """A place where a rule applies. remedy: instead of the rule's own, where the place asks for another."""

    line: int
    message: str
    remedy: str = ""


@dataclass(frozen=True)
class Rule:
    """One kind of mistake. title: in a few words. why: what it does to the figure. remedy: what to do."""

    code: str
    title: str
    why: str
    remedy: str
    check: Callable[[Example], Iterator[Hit]]
