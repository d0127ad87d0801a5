"""Finds names that are missing, renamed or misspelled, using a table of TensorFlow's API."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from tuilab.documents.interpreter.trace import Use
from tuilab.documents.words import words
from tuilab.model.api import ApiTable


@dataclass(frozen=True)
class Index:
    """Index of the names in an API table.

    below: the names in each namespace. modules: whether each private module has submodules.
    """

    known: frozenset[str]
    below: dict[str, list[str]]
    modules: dict[str, bool]


_indexed: list[tuple[ApiTable, Index]] = []
# Keep one index per version that has a table, because the documents of a folder may install different
# versions.
_KEPT = 8


def index_of(api: ApiTable) -> Index:
    """Return the table's index, cached by the table's identity, because hashing a table takes as long as
    indexing it.
    """
    kept = next((index for table, index in _indexed if table is api), None)
    if kept is None:
        below: dict[str, list[str]] = {}
        for name in api.names:
            below.setdefault(name.rpartition(".")[0], []).append(name)
        packages = {name.rpartition(".")[0] for name in api.modules}
        modules = {name: name in packages for name in api.modules}
        kept = Index(frozenset(api.names), below, modules)
        _indexed[:] = [*_indexed[1 - _KEPT :], (api, kept)]
    return kept


def missing(api: ApiTable, name: str) -> str:
    """Return the part of a dotted name that does not exist; "" if the name exists or may exist."""
    index = index_of(api)
    parts = name.split(".")
    for length in range(2, len(parts) + 1):
        prefix = ".".join(parts[:length])
        parent = ".".join(parts[: length - 1])
        if parts[length - 1].startswith("_"):
            return ""
        if prefix not in index.known:
            # Below anything other than a module or class (such as a dtype or a constant), assume that any
            # name exists.
            return prefix if parent in index.below else ""
    return ""


def renamed(api: ApiTable, name: str) -> str:
    """Return the TensorFlow 2 name for a TensorFlow 1 name, from TensorFlow's own rename maps; "" if
    there is none.
    """
    parts = name.split(".")
    for length in range(len(parts), 1, -1):
        found = api.renames.get(".".join(parts[:length]))
        whole = ".".join([found, *parts[length:]]) if found else ""
        if whole and whole in index_of(api).known:
            return whole
    return ""


def nearest(api: ApiTable, name: str) -> str:
    index = index_of(api)
    parent, _, word = name.rpartition(".")
    below = [found.rpartition(".")[2] for found in index.below.get(parent, [])]
    same = [found for found in below if found.lower() == word.lower()]
    close = same or difflib.get_close_matches(word, below, n=1, cutoff=0.85)
    if close and len(word) > 3:
        return f"{parent}.{close[0]}"
    # Standalone Keras has names that tf.keras lacks.
    return name.removeprefix("tf.") if name.removeprefix("tf.") in index.known else ""


# Names that still exist in Keras 3 only to report that they were removed.
LEGACY = ("tf.keras.optimizers.legacy.", "keras.optimizers.legacy.")


def missing_part(api: ApiTable, use: Use) -> str:
    """Return the part of a used name that does not exist; "" if the name exists or may exist."""
    if use.name.endswith("__"):
        return ""  # every module and every class has these attributes
    if use.name.startswith(LEGACY) and api.keras.startswith("3"):
        return next(name for name in LEGACY if use.name.startswith(name)).removesuffix(".")
    if use.name.startswith("tf."):
        return missing(api, use.name)
    if use.name.startswith("keras."):
        return missing(api, use.name) if "keras" in index_of(api).below else ""
    return _missing_module(api, use)


def _missing_module(api: ApiTable, use: Use) -> str:
    """Return the missing private module in a dotted name; "" if there is none. Names inside private modules
    are not checked, because the API table does not list them.
    """
    if not use.name.startswith("tensorflow.python.") or not api.modules:
        return ""
    modules = index_of(api).modules
    parts = use.name.split(".")
    for length in range(3, len(parts) + 1):
        name = ".".join(parts[:length])
        if name not in modules:
            parent = ".".join(parts[: length - 1])
            # Only `tensorflow.python` defines names in its `__init__.py`; the packages below it do not.
            return name if length > 3 and modules.get(parent) else ""
    return ""


# Modules that TensorFlow 2 dropped. TensorFlow's own rename table covers the other old names.
_OLD = words("tf.contrib tf.layers tf.app tf.flags tf.gfile tf.logging tf.examples")
_FEW = 3
_NEW = ("tf.function", "tf.GradientTape", "tf.config.")
_MOSTLY = 0.3


def old_uses(api: ApiTable, uses: Sequence[Use]) -> tuple[Use, int, int] | None:
    """Return the first use of a TensorFlow 1 name, the number of uses of missing names, and the number of
    different missing names. Returns None unless these uses show that the code was written for version 1.
    """
    gone = [(use, part) for use in uses if not use.guarded and (part := missing_part(api, use))]
    old = [
        use
        for use, part in gone
        if part.startswith(_OLD)
        or ".compat.v1." in renamed(api, use.name)
        or ".compat.v1." in renamed(api, part)
    ]
    if len(old) < _FEW or len({use.name for use in old}) < 2:
        return None
    # Code that uses tf.function was written for version 2, even if a few of its names are old.
    modern = sum(use.name.startswith(_NEW) for use in uses)
    if modern and len(old) < _MOSTLY * sum(use.name.startswith("tf.") for use in uses):
        return None
    return old[0], len(gone), len({part for _, part in gone})
