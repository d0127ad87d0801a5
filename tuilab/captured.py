"""`tuilab.capture`: saves a function or model of a running program as a folder for `tuilab run`.

Needs only the program's own TensorFlow, because the observer of `tuilab watch` loads this file into programs
without the lab. Supports Python 3.9 and later.
"""

import contextlib
import inspect
import json
import logging
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

MANIFEST = "tuilab.json"
VERSION = 1
SIGNATURE, AS_CALLED = "call", "as_called"
"""Names of two signatures: the graph for any batch, and the graph for the captured call's shapes, if fixed.

A graph with fixed shapes need not compute shapes in each call or loop iteration. For the gradient of a
recurrent layer, the graph for any batch takes a fifth longer than the program's own graph.
"""


@dataclass(frozen=True)
class Manifest:
    name: str
    arguments: tuple[str, ...]
    """Names of the signature's tensors, in the order of the call's arguments."""
    results: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    batch: int = 0
    versions: Mapping[str, str] | None = None
    """Versions of `tensorflow` and `python` that wrote the folder."""
    mixed: bool = False
    """True if the step runs with TensorFlow's automatic mixed precision."""
    steps: int = 1

    @classmethod
    def read(cls, found: Mapping[str, Any]) -> "Manifest":
        """Read the manifest from JSON. Raises KeyError, TypeError or ValueError for an invalid manifest."""
        from tuilab.model.sanitize import sanitize_line

        if found["version"] != VERSION:
            raise ValueError(found["version"])
        words = {key: tuple(str(each) for each in found[key]) for key in ("arguments", "results", "said")}
        lines = tuple(sanitize_line(each, 300) for each in words["said"][:10])
        batch = int(found.get("batch", 0))
        name, mixed = sanitize_line(str(found["name"]), 100), found.get("mixed") is True
        steps = max(1, int(found.get("steps", 1)))
        return cls(name, words["arguments"], words["results"], lines, batch, mixed=mixed, steps=steps)


def repeat(tf: Any, step: Callable[[], Any], steps: int) -> Any:
    """Run the step `steps` times, in a loop of the graph. Return the last results."""
    if steps == 1:
        return step()
    _, results = tf.while_loop(
        lambda n, _: n < steps, lambda n, _: (n + 1, step()), (tf.constant(1), step()), parallel_iterations=1
    )
    return results


def capture(target: Any, *arguments: Any, folder: "str | Path" = "", **named: Any) -> Path:
    """Save a function, as called with these arguments, or a Keras model to a folder. Return the folder.

    target: a function, a `tf.function`, a method, or a Keras model (saves its inference if no arguments are
    given). Tensors and arrays become inputs, with an unknown first dimension if the function can be traced
    that way. For a dataset iterator, the inputs are its elements. Other arguments become part of the graph.
    Variables are saved with their values, including an optimizer's. folder: where to write, `captured/NAME`
    by default; an earlier capture is replaced once the new one is complete. The function is traced again,
    once for any batch and once as called, but not run. Raises ValueError if no argument is a tensor, and any
    error that the function raises during tracing.
    """
    import tensorflow as tf

    if not arguments and not named and hasattr(target, "inputs") and getattr(target, "inputs", None):
        return _model(tf, target, folder)
    name = _name(target)
    drawn = [each for each in tf.nest.flatten((arguments, named)) if isinstance(each, tf.data.Iterator)]
    arguments, named = tf.nest.map_structure(
        lambda each: _Drawn(tf, each.element_spec) if isinstance(each, tf.data.Iterator) else each,
        (arguments, named),
    )
    flat = tf.nest.flatten((arguments, named), expand_composites=True)
    given = [spec for each in flat for spec in _specs(tf, each)]
    if not given:
        raise ValueError(f"tuilab.capture: the arguments of {name} contain no tensor or array")
    words = _words(target, arguments, named, len(given), tf)

    def called(*tensors: Any) -> Any:
        left = iter(tensors)
        filled = [
            each.given(left) if isinstance(each, _Drawn) else next(left) if _is_data(tf, each) else each
            for each in flat
        ]
        again, by_name = tf.nest.pack_sequence_as((arguments, named), filled, expand_composites=True)
        return _name_outputs(tf, target(*again, **by_name))

    return _write(tf, called, given, words, name, folder, next(map(_drawn_at_once, drawn), 0))


def _model(tf: Any, model: Any, folder: "str | Path") -> Path:
    import keras

    tree = keras.tree

    def called(*tensors: Any) -> Any:
        packed = tensors[0] if len(tensors) == 1 else tree.pack_sequence_as(model.input, list(tensors))
        return _name_outputs(tf, model(packed, training=False))

    specs = [tf.TensorSpec(tuple(t.shape), t.dtype) for t in model.inputs]
    words = _clean([str(t.name) for t in model.inputs])
    return _write(tf, called, specs, words, str(model.name), folder)


def _write(
    tf: Any,
    called: Callable[..., Any],
    exact: list[Any],
    words: list[str],
    name: str,
    folder: "str | Path",
    batch: int = 0,
) -> Path:
    said: list[str] = []
    function = tf.function(called)
    exact = [tf.TensorSpec(t.shape, t.dtype, name=word) for t, word in zip(exact, words)]  # noqa: B905
    # Trace this graph first, because TensorFlow would later reuse the graph for any batch.
    as_called = function.get_concrete_function(*exact)
    concrete = _relaxed_graph(tf, function, exact, as_called, said)
    graphs = {SIGNATURE: concrete}
    if concrete is not as_called and all(spec.shape.is_fully_defined() for spec in exact):
        graphs[AS_CALLED] = as_called
    root = tf.Module()
    root.held = list({id(v): v for graph in graphs.values() for v in graph.graph.variables}.values())
    path = Path(folder) if folder else Path("captured") / name
    if path.exists() and not (path / MANIFEST).exists() and any(path.iterdir()):
        raise ValueError(f"tuilab.capture: {path} contains something else; choose another folder")
    # Save no gradients, because a captured call is measured but never differentiated. Besides, the gradients
    # of a distribution strategy cannot be saved.
    options = tf.saved_model.SaveOptions(experimental_custom_gradients=False)
    manifest = Manifest(
        name=name,
        arguments=tuple(words),
        results=tuple(sorted(concrete.structured_outputs)),
        said=tuple(said),
        batch=batch or next((t.shape[0] for t in exact if t.shape.rank and t.shape[0]), 0),
        versions={"tensorflow": tf.__version__, "python": sys.version.partition(" ")[0]},
    )
    whole = path.resolve()
    beside, old = (whole.with_name(f".{whole.name}.{os.getpid()}.{end}") for end in ("part", "old"))
    _remove_left(whole)
    try:
        beside.mkdir(parents=True)
        with _held(beside), _quiet():
            tf.saved_model.save(root, str(beside), signatures=graphs, options=options)
            (beside / MANIFEST).write_text(json.dumps({"version": VERSION, **asdict(manifest)}, indent=1))
            _put(beside, whole, old)
    finally:
        shutil.rmtree(str(beside), ignore_errors=True)
    return path


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Suppress TensorFlow's message that names the output folder, because that folder is renamed once
    complete.
    """
    logger = logging.getLogger("tensorflow")
    before = logger.level
    logger.setLevel(max(before, logging.WARNING))
    try:
        yield
    finally:
        logger.setLevel(before)


@contextlib.contextmanager
def _held(folder: Path) -> "Iterator[bool]":
    """Lock the folder. Yield True if this process acquired the lock.

    The lock tells other processes that the folder's writer is alive.
    """
    try:
        import fcntl  # fcntl is missing on Windows

        fd = os.open(str(folder), os.O_RDONLY)
    except (ImportError, OSError):
        yield False
        return
    try:
        held = True
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:  # another process holds the lock, or the file system has no locks
            held = False
        yield held
    finally:
        os.close(fd)


def _remove_left(whole: Path) -> None:
    """Delete temporary folders next to `whole` that interrupted captures left behind."""
    left = re.compile(re.escape(f".{whole.name}.") + r"[0-9]+\.(part|old)")
    for name in os.listdir(str(whole.parent)) if whole.parent.is_dir() else ():
        # Until the rename, the old capture is the only copy.
        if (match := left.fullmatch(name)) and (match[1] == "part" or whole.exists()):
            with _held(whole.parent / name) as dead:
                if dead:
                    shutil.rmtree(str(whole.parent / name), ignore_errors=True)


def _put(beside: Path, path: Path, old: Path) -> None:
    """Rename a complete folder to its final name. Then delete the replaced folder if possible."""
    if not path.exists():
        beside.rename(path)
        return
    path.rename(old)
    try:
        beside.rename(path)
    except OSError:
        old.rename(path)
        raise
    shutil.rmtree(str(old), ignore_errors=True)


def _relaxed_graph(tf: Any, function: Any, exact: list[Any], as_called: Any, said: list[str]) -> Any:
    """Return the function's graph for inputs with an unknown shared first dimension.

    If that graph cannot be traced, returns the graph for the captured call.
    """
    batches = {spec.shape[0] for spec in exact if spec.shape.rank}
    already = batches == {None}
    if already or not batches or (len(batches) > 1 and None not in batches):
        if len(batches) > 1:
            said.append("The inputs' first dimensions differ, so none of them is variable.")
        return as_called
    open_ = [
        tf.TensorSpec([None, *spec.shape[1:]], spec.dtype, name=spec.name) if spec.shape.rank else spec
        for spec in exact
    ]
    try:
        return function.get_concrete_function(*open_)
    except Exception as error:  # the user's function may raise anything for an unknown batch size
        said.append(
            f"Its first dimension stays {batches.pop()}: tracing with an unknown size raised "
            f"{type(error).__name__}."
        )
        return as_called


class _Drawn:
    """Stands in for a dataset iterator while a function is traced. Each element consists of the function's
    inputs.
    """

    def __init__(self, tf: Any, spec: Any, batch: Any = None) -> None:
        self._tf, self.spec, self._batch = tf, spec, batch

    def leaves(self) -> list[Any]:
        return list(self._tf.nest.flatten(self.spec, expand_composites=True))

    def given(self, left: Any) -> "_Drawn":
        """Return a copy whose elements contain these tensors instead of their specs."""
        filled = [next(left) if isinstance(each, self._tf.TensorSpec) else None for each in self.leaves()]
        batch = self._tf.nest.pack_sequence_as(self.spec, filled, expand_composites=True)
        return _Drawn(self._tf, self.spec, batch)

    def __iter__(self) -> "_Drawn":
        return self

    def __next__(self) -> Any:
        return self._batch

    get_next = __next__

    def get_next_as_optional(self) -> Any:
        return self._tf.experimental.Optional.from_value(self._batch)


def _drawn_at_once(iterator: Any) -> int:
    """Return the number of examples per element of the iterator; 0 if unknown.

    The number comes from the `batch` call that created the iterator's dataset, or, for arrays passed to
    Keras' `fit`, from the frame of `fit` on the stack.
    """
    frame: Any = sys._getframe()
    while frame is not None:
        if frame.f_locals.get("iterator") is iterator and "epoch_iterator" in frame.f_locals:
            adapter = getattr(frame.f_locals["epoch_iterator"], "data_adapter", None)
            if size := getattr(adapter, "batch_size", None):
                return int(size)
        frame = frame.f_back
    waiting = [getattr(iterator, "_dataset", None)]
    for dataset in waiting:
        if dataset is None or len(waiting) > 100:
            break
        if getattr(dataset, "_batch_size", None) is not None:
            return int(dataset._batch_size)
        waiting += dataset._inputs()
    return 0


def _specs(tf: Any, leaf: Any) -> list[Any]:
    if isinstance(leaf, _Drawn):
        return [each for each in leaf.leaves() if isinstance(each, tf.TensorSpec)]
    return [tf.convert_to_tensor(leaf)] if _is_data(tf, leaf) else []


def _is_data(tf: Any, value: Any) -> bool:
    if isinstance(value, tf.Variable):
        return False
    return tf.is_tensor(value) or (hasattr(value, "dtype") and hasattr(value, "shape"))


def _name(target: Any) -> str:
    inner = getattr(target, "python_function", target)
    name = getattr(inner, "__name__", "") or type(target).__name__
    return "".join(c if c.isalnum() or c in "_-" else "_" for c in name).strip("_") or "function"


def _words(target: Any, arguments: Any, named: Any, count: int, tf: Any) -> list[str]:
    """Return a name for each input: its parameter's name, with a number if the parameter holds several
    tensors.
    """
    inner = getattr(target, "python_function", target)
    try:
        bound = inspect.signature(inner).bind(*arguments, **named).arguments
    except (TypeError, ValueError):
        bound = {}
    words: list[str] = []
    for name, value in bound.items():
        flat = tf.nest.flatten(value, expand_composites=True)
        data = [each for leaf in flat for each in _specs(tf, leaf)]
        if len(data) in (2, 3) and isinstance(value, _Drawn):
            words += ("x", "y", "sample_weight")[: len(data)]
        else:
            words += [name] if len(data) == 1 else [f"{name}_{index}" for index in range(len(data))]
    return _clean(words if len(words) == count else [f"input_{index}" for index in range(count)])


def _clean(words: list[str]) -> list[str]:
    found: list[str] = []
    for word in words:
        kept = "".join(c if c.isalnum() or c == "_" else "_" for c in word) or "input"
        kept = kept if kept[0].isalpha() else f"input_{kept}"
        found.append(kept if kept not in found else f"{kept}_{len(found)}")
    return found


def _name_outputs(tf: Any, outputs: Any) -> dict[str, Any]:
    optional = tf.experimental.Optional
    outputs = [e.get_value() if isinstance(e, optional) else e for e in tf.nest.flatten(outputs)]
    flat = [each for each in tf.nest.flatten(outputs, expand_composites=True) if each is not None]
    return {f"output_{index:03d}": tf.convert_to_tensor(each) for index, each in enumerate(flat)}
