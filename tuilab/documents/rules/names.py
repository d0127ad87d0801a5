"""Names, arguments and errors that the installed TensorFlow does not have."""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass

from tuilab.documents.example import Example
from tuilab.documents.interpreter.trace import Event, Use
from tuilab.documents.rules.rule import Hit
from tuilab.model.api import ApiTable

MOST_HITS = 40
# What stands nearest in meaning where no name is near in spelling.
_INSTEAD = {
    "tf.signal.lfilter": ("tf.nn.conv1d", "A FIR filter is a convolution: use tf.nn.conv1d."),
    "tf.io.compress": (
        "tf.io.decode_compressed",
        "Compress with zlib on the host; decode_compressed only undoes it.",
    ),
    "tf.Session": ("tf.compat.v1.Session", "TensorFlow 2 runs eagerly: call the functions directly."),
    "tf.placeholder": ("tf.compat.v1.placeholder", "Give a tf.function an argument instead."),
    "tf.contrib": ("", "tf.contrib left with TensorFlow 2."),
}


@dataclass(frozen=True)
class Index:
    """A table's names, ready to be looked up. below: the names of each namespace; by_word: by last word.

    modules: each private module, and whether others lie below it.
    """

    known: frozenset[str]
    below: dict[str, list[str]]
    by_word: dict[str, list[str]]
    modules: dict[str, bool]


_indexed: list[tuple[ApiTable, Index]] = []


def index_of(api: ApiTable) -> Index:
    """The table's index, made once: hashing a table takes as long as making one."""
    if not _indexed or _indexed[-1][0] is not api:
        below: dict[str, list[str]] = {}
        by_word: dict[str, list[str]] = {}
        for name in api.names:
            parent, _, word = name.rpartition(".")
            below.setdefault(parent, []).append(name)
            by_word.setdefault(word, []).append(name)
        packages = {name.rpartition(".")[0] for name in api.modules}
        modules = {name: name in packages for name in api.modules}
        _indexed[:] = [(api, Index(frozenset(api.names), below, by_word, modules))]
    return _indexed[-1][1]


def missing(api: ApiTable, name: str) -> str:
    """The part of a dotted name that does not exist, "" where it does or that cannot be told."""
    index = index_of(api)
    parts = name.split(".")
    for length in range(2, len(parts) + 1):
        prefix = ".".join(parts[:length])
        parent = ".".join(parts[: length - 1])
        if parts[length - 1].startswith("_"):
            return ""
        if prefix not in index.known:
            # Below something that is neither module nor class (a dtype, a constant) anything may lie.
            return prefix if parent in index.below else ""
    return ""


def nearest(api: ApiTable, name: str) -> str:
    """The real name nearest to one that does not exist, "" for none."""
    index = index_of(api)
    below, by_word = index.below, index.by_word
    parent, _, word = name.rpartition(".")
    inside = difflib.get_close_matches(name, below.get(parent, []), n=1, cutoff=0.85)
    if inside:
        return inside[0]
    elsewhere = by_word.get(word, [])
    if elsewhere:
        return min(elsewhere, key=lambda found: (found.count("."), len(found)))
    lowered = {n.rpartition(".")[2].lower(): n for n in below.get(parent, [])}
    close = difflib.get_close_matches(word.lower(), lowered, n=1, cutoff=0.6)
    return lowered[close[0]] if close else ""


def missing_api(example: Example) -> Iterator[Hit]:
    """A name that this TensorFlow does not have."""
    api = example.api
    if api is None:
        return
    seen: set[tuple[str, int]] = set()
    modules: set[str] = set()
    for use in example.uses:
        if use.guarded or len(seen) >= MOST_HITS:
            continue
        gone = missing(api, use.name) if use.name.startswith("tf.") else _missing_module(api, use)
        # A module that is missing is missing once, where it is imported.
        if gone and (gone, use.line) not in seen and gone not in modules:
            seen.add((gone, use.line))
            if not gone.startswith("tf."):
                modules.add(gone)
            yield _hit(api, gone, use.line)


def _hit(api: ApiTable, gone: str, line: int) -> Hit:
    near, remedy = _INSTEAD.get(gone, (nearest(api, gone) if gone.startswith("tf.") else "", ""))
    message = f"{gone} does not exist in TensorFlow {api.version}"
    if not near:
        return Hit(line, message, remedy)
    return Hit(line, f"{message}; the nearest real name is {near}", remedy or f"Use {near}.")


def _missing_module(api: ApiTable, use: Use) -> str:
    """A private module that is not there. Names inside of modules are not known, only the modules."""
    if not use.name.startswith("tensorflow.python.") or not api.modules:
        return ""
    modules = index_of(api).modules
    parts = use.name.split(".")
    for length in range(3, len(parts) + 1):
        name = ".".join(parts[:length])
        if name not in modules:
            parent = ".".join(parts[: length - 1])
            # The packages' own files hold no names, except that of tensorflow.python itself.
            return name if length > 3 and modules.get(parent) else ""
    return ""


def wrong_argument(example: Example) -> Iterator[Hit]:
    """An argument that the function does not take."""
    # Without the installed version's own signatures this cannot be told.
    if example.api is not None:
        yield from _misfits(example, "argument")


def wrong_type(example: Example) -> Iterator[Hit]:
    """An argument of a type that the function does not take."""
    yield from _misfits(example, "type")


def wrong_key(example: Example) -> Iterator[Hit]:
    """A key that the result does not have."""
    yield from _misfits(example, "key")


def _misfits(example: Example, kind: str) -> Iterator[Hit]:
    for misfit in example.misfits:
        if misfit.kind == kind:
            yield Hit(misfit.line, misfit.detail, misfit.remedy)


_NEVER = ("RuntimeError", "MemoryError")
_CATCHES_ALL = ("", "?", "Exception", "BaseException")
# What may stand in a body whose errors are TensorFlow's own.
_OPS_ONLY = ("create", "op", "graph", "copy", "print", "bind", "clock", "query", "sync", "python")


def unraisable(example: Example) -> Iterator[Hit]:
    """A handler for an error that the ops above it never raise."""
    for attempt in example.tries:
        body = example.trace.events[attempt.first : attempt.last + 1]
        if not _only_ops(body):
            continue
        caught = [name for handler in attempt.handlers for name in handler.names]
        if any(name in _CATCHES_ALL or name.startswith("tf.errors.") for name in caught):
            continue
        for handler in attempt.handlers:
            names = [name for name in handler.names if name in _NEVER]
            if names and len(names) == len(handler.names):
                yield Hit(
                    handler.line,
                    f"this handler never catches: the ops above raise errors of tf.errors, such as "
                    f"ResourceExhaustedError, and none of them is a {names[0]}",
                )


def _only_ops(body: list[Event]) -> bool:
    works = any(event.kind in ("create", "op", "graph") for event in body)
    return works and all(event.kind in _OPS_ONLY for event in body)


def magics(example: Example) -> Iterator[Hit]:
    """An IPython magic in what is given as Python."""
    if example.block.notebook:
        return
    for line, name in example.magics:
        yield Hit(line, f"{name} is a magic of IPython; as Python this line is a syntax error")
