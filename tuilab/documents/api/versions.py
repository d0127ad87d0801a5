"""The public names of each supported TensorFlow version, stored as differences from the shipped table."""

import re
from collections.abc import Iterable
from functools import lru_cache

import msgspec

from tuilab.documents.api.tables import SHIPPED_VERSION, brought, shipped
from tuilab.model.api import ApiTable, Signature
from tuilab.model.errors import InputError
from tuilab.model.sanitize import sanitize_line

FILE = "tensorflow-versions.json.xz"
BEFORE = "2.15"
"""The last TensorFlow version that is too old to be supported. Its table lists only names that supported
versions have removed, including those of Keras 2.
"""
_PIN = re.compile(
    r"(?<![\w.-])tensorflow(?:-cpu|-gpu|-macos|-intel)?(?:\[[\w,-]{0,40}\])?[ ]?(?:[=~]=|=)[ ]?"
    r"(\d{1,3}\.\d{1,3})(?![\d])"
)
_PUTS = re.compile(r"\b(?:install|add|dependencies|requires)\b")
_ALONE = re.compile(r"[-#\"'\s]*")


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """The differences between the names of one TensorFlow version and the shipped table.

    Keras is left out, because it is a separate package.
    """

    version: str
    """Full version of the TensorFlow wheel, such as `2.17.1`."""
    more: tuple[str, ...]
    """Names and modules that only this version has."""
    less: tuple[str, ...]
    """Names and modules that this version lacks."""
    signatures: dict[str, Signature] = {}
    """Signatures of names that only this version has, and of shared names whose signatures differ."""


class Versions(msgspec.Struct, frozen=True):
    """All supported TensorFlow versions except that of the shipped table."""

    differences: tuple[Difference, ...]


def minor(version: str) -> tuple[int, ...]:
    """Return the major and minor number of a version: `2.17.1` → (2, 17)."""
    return tuple(map(int, re.findall(r"\d+", version)[:2]))


@lru_cache(maxsize=1)
def _differences() -> dict[tuple[int, ...], Difference]:
    found = {minor(each.version): each for each in brought(FILE, Versions).differences}
    nothing = Difference(version=SHIPPED_VERSION, more=(), less=())
    return dict(sorted((found | {minor(SHIPPED_VERSION): nothing}).items()))


def supported_versions() -> tuple[str, ...]:
    return tuple(".".join(map(str, number)) for number in _differences() if number > minor(BEFORE))


def check_version(where: str, version: str) -> None:
    """Raise InputError for an unknown version; "" is allowed."""
    numbers = ".".join(map(str, minor(version)))
    if version and (
        numbers not in supported_versions() or not re.fullmatch(r"[0-9]+\.[0-9]+(\.[0-9]+)?", version)
    ):
        expected = f"a TensorFlow from {supported_versions()[0]} to {supported_versions()[-1]}"
        raise InputError(where, sanitize_line(version, 40), expected)


@lru_cache(maxsize=8)
def table_of(version: str) -> ApiTable:
    """Return the table for a supported version (`2.17`; the patch number is ignored)."""
    base, other = shipped(), _differences()[minor(version)]
    less = frozenset(other.less)
    names = sorted({*(n for n in base.names if n not in less), *(n for n in other.more if not _inside(n))})
    modules = (*(m for m in base.modules if m not in less), *filter(_inside, other.more))
    there = frozenset(names)
    return msgspec.structs.replace(
        base,
        version=other.version,
        names=tuple(names),
        signatures={n: s for n, s in {**base.signatures, **other.signatures}.items() if n in there},
        modules=modules,
        renames={old: new for old, new in base.renames.items() if new in there and old not in there},
        # The tables of other versions were made from wheels without GPU kernels.
        gpu_dtypes=base.gpu_dtypes if other.version == base.version else {},
    )


def _inside(name: str) -> bool:
    """Return True if the name is inside TensorFlow's private modules rather than in `tf` or Keras."""
    return name.startswith("tensorflow.")


@lru_cache(maxsize=1)
def _base() -> frozenset[str]:
    return frozenset((*shipped().names, *shipped().modules))


def when(api: ApiTable, name: str) -> str:
    """Return a phrase with the TensorFlow version that removed or added the name; "" if this version is
    unknown.
    """
    here = minor(api.version)
    having = [
        number
        for number, other in _differences().items()
        if name in other.more or (name in _base() and name not in other.less)
    ]
    later = [number for number in having if number > here]
    if later:
        return f"new in {'.'.join(map(str, later[0]))}"
    after = [number for number in _differences() if having and having[-1] < number <= here]
    return f"gone since {'.'.join(map(str, after[0]))}" if after else ""


def installed_by(lines: Iterable[str]) -> tuple[str, int] | None:
    """Return the version that a document installs (`pip install tensorflow==2.17`) and the line of the
    command. None if the document installs no supported version, or several.
    """
    found: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        if "tensorflow" not in line:
            continue
        for match in _PIN.finditer(line):
            before = line[: match.start()]
            if _PUTS.search(before) or _ALONE.fullmatch(before):
                found.setdefault(match[1], number)
    if len(found) != 1:
        return None
    ((version, number),) = found.items()
    return (version, number) if version in supported_versions() else None
