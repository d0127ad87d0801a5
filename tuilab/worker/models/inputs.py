"""Describes a model's inputs, and generates arrays that the model accepts."""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, Optional

import msgspec
import numpy as np

from tuilab.model.errors import InputError
from tuilab.model.models import ModelInfo, ModelInput
from tuilab.model.parameters import LogInteger, Value, nearest
from tuilab.model.sanitize import sanitize_line
from tuilab.model.workload import Declaration
from tuilab.worker.ranges import UNKNOWN, Range, read
from tuilab.workloads.base import Unavailable

Spec = tuple[str, str, tuple[Optional[int], ...]]
"""Name, dtype and shape of an input. A dimension of unknown size is None."""

BATCH, VALUES = "batch", "values"
LARGEST_BATCH = 65_536
_WORDS = {BATCH: "Examples in one call.", VALUES: "Values in all ragged rows together."}
_USUAL = {BATCH: 32, "height": 224, "width": 224, VALUES: 1_024}
_AXES = {2: ("length",), 3: ("length", "features"), 4: ("height", "width", "channels")}
WORDS = ("red", "green", "blue", "cat", "dog", "house", "tree", "seven")
INTEGERS = 1_000
"""Exclusive upper limit assumed for integers of unknown range."""
LIMITS = 8
"""Maximum number of calls in the search for the limits of the integers."""
LARGEST_DATA = 2**33
_RANGE = re.compile(r"(?:is not in|outside the valid range of|is out of range) \[0, (\d+)\)")


def axis_name(rank: int, axis: int) -> str:
    if axis == 0:
        return BATCH
    names = _AXES.get(rank, ())
    return names[axis - 1] if axis - 1 < len(names) else f"dimension_{axis}"


def usual_size(name: str) -> int:
    """Return the initial size of a dimension that has no fixed size."""
    return _USUAL.get(name, 64)


def parameters(given: "Given", batch: int = 0) -> tuple[LogInteger, ...]:
    return tuple(_parameter(name, given, batch) for name in given.open)


def _parameter(name: str, given: "Given", batch: int) -> LogInteger:
    words = _WORDS.get(name, "An unknown dimension of the inputs.")
    most = given.most.get(name, LARGEST_BATCH if name == BATCH else 8_192)
    called = name == BATCH and 0 < batch <= LARGEST_BATCH
    usual = batch if called else given.most.get(name, usual_size(name))
    low, of = given.takes.get(name, (1, 1))
    high = most // of * of if of else low
    declared = LogInteger(name=name, help=words, default=low, low=low, high=high, multiple=of or low)
    return msgspec.structs.replace(declared, default=nearest(declared, usual))


def declaration(
    what: str, name: str, title: str, info: ModelInfo, axes: tuple[LogInteger, ...]
) -> Declaration:
    """Return the declaration of a model with these open dimensions. what: as in `A Keras model`."""
    shown = "; ".join(f"{i.name} {i.dtype} ({', '.join(map(str, i.shape))})" for i in info.inputs)
    return Declaration(
        name=name,
        title=sanitize_line(title, 100),
        summary=f"{what} with {info.parameters:,} weights. Inputs: {sanitize_line(shown, 500)}.",
        unit="batch" if info.batch else "call",
        parameters=axes,
        axis=axes[0].name if axes else "",
    )


def shaped(shape: Sequence[int | None], known: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(known.get(axis_name(len(shape), i), 1) if n is None else n for i, n in enumerate(shape))


def limit_of(error: Exception) -> int:
    match = _RANGE.search(str(error))
    return max(1, int(match[1])) if match else 0


def stated(name: str, how: str) -> None:
    """Raise InputError for an `--input` that the model already defines. how: where the model defines its
    inputs.
    """
    expected = f"no shape: the model defines its inputs ({how}); use --set for unknown sizes"
    raise InputError("--input", name, expected)


class Made:
    """Generates arrays from a fixed random seed."""

    def __init__(self, tf: Any) -> None:
        self._tf, self._random = tf, np.random.default_rng(0)

    def array(self, dtype: str, shape: tuple[int, ...], taken: Range = UNKNOWN, largest: bool = False) -> Any:
        """Return a random array of values in the range `taken`. largest: use the largest valid integers."""
        if dtype == "string":
            if taken.below:
                drawn = self._random.integers(0, taken.below, size=shape)
                return np.array([f"word{n}" for n in drawn.flat], dtype=object).reshape(shape)
            return self._random.choice(np.array(taken.words or WORDS, dtype=object), size=shape)
        kind = self._tf.as_dtype(dtype).as_numpy_dtype
        if dtype == "bool" or taken.flags:
            return (self._random.random(shape) < 0.5).astype(kind)
        if taken.words:
            return self._random.choice(np.array(taken.words), size=shape).astype(kind)
        if np.issubdtype(kind, np.integer) or taken.below:
            limit = int(np.iinfo(kind).max) + 1 if np.issubdtype(kind, np.integer) else 2**53
            below = np.full(shape[-1:], min(taken.below or INTEGERS, limit))
            for column, own in taken.columns:
                below[column : column + 1] = own
            low = np.minimum(taken.low, below - 1)
            drawn = (
                np.broadcast_to(below - 1, shape)
                if largest
                else self._random.integers(low, below, size=shape)
            )
            return drawn.astype(kind)
        if np.issubdtype(kind, np.complexfloating):
            return (self._random.random(shape) + 1j * self._random.random(shape)).astype(kind)
        return (self._random.random(shape, dtype=np.float32) * (taken.most or 1.0)).astype(kind)

    def splits(self, dtype: str, rows: int, count: int) -> Any:
        ends = np.sort(self._random.integers(0, count + 1, size=max(0, rows - 1)))
        return np.concatenate([[0], ends, [count]]).astype(self._tf.as_dtype(dtype).as_numpy_dtype)

    def between(self, dtype: str, shape: tuple[int, ...], low: float | None, high: float | None) -> Any:
        kind = self._tf.as_dtype("float32" if dtype == "string" else dtype).as_numpy_dtype
        if dtype in ("string", "bool"):
            return self.array(dtype, shape)
        least, most = low or 0, 1 if high is None else high
        if np.issubdtype(kind, np.integer):
            limit = int(min(most, np.iinfo(kind).max))
            return self._random.integers(int(least), limit + 1, size=shape).astype(kind)
        return (least + self._random.random(shape) * (most - least)).astype(kind)

    def targets(
        self,
        model: Any,
        loss: str,
        outputs: Sequence[tuple[tuple[int | None, ...], str]],
        known: Mapping[str, int],
    ) -> list[Any]:
        """Return the targets of a training step, one array per output in the form that its loss needs."""
        names = [str(name) for name in getattr(model, "output_names", [])]
        found = []
        for index, (shape, _) in enumerate(outputs):
            own = loss or _loss_of(model.loss, names[index] if index < len(names) else "", index)
            at = shaped(shape, known)
            if "sparse" in own:
                found.append(self._random.integers(0, at[-1], size=at[:-1]).astype("int32"))
            elif "categorical" in own and at[-1] > 1:
                found.append(np.eye(at[-1], dtype="float32")[self._random.integers(0, at[-1], size=at[:-1])])
            elif "binary" in own or "hinge" in own:
                found.append((self._random.random(at) < 0.5).astype("float32"))
            else:
                found.append(self._random.random(at, dtype=np.float32).astype("float32"))
        return found


def _loss_of(loss: Any, name: str, index: int) -> str:
    if isinstance(loss, dict):
        loss = loss.get(name) or list(loss.values())[min(index, len(loss) - 1)]
    elif isinstance(loss, (list, tuple)):
        loss = loss[min(index, len(loss) - 1)]
    said = loss if isinstance(loss, str) else getattr(loss, "name", "") or getattr(loss, "__name__", "")
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", str(said)).lower()


class Given:
    """A model's inputs: generated to suit the model, or supplied by the user (`--data`).

    hints: values of each input, by name. Values found in the graph of `call` take precedence.
    """

    def __init__(
        self, tf: Any, specs: Sequence[Spec], data: str, call: Callable[..., Any], hints: Mapping[str, Range]
    ) -> None:
        self.specs, self.said = tuple(specs), tuple[str, ...]()
        self._tf, self._call = tf, call
        names = [name for name, _, _ in specs]
        found = read(tf, call, [tf.TensorSpec(shape, dtype) for _, dtype, shape in specs], names)
        self._known = {name: each for name, each in hints.items() if not each.most}
        self._known |= {name: each for name, each in zip(names, found, strict=False) if each != UNKNOWN}
        self._hints = {**hints, **self._known}
        self._values = self._ragged()
        """Maps the name of each row-splits input to the name of the input with the values of the ragged rows.
        """
        self._tied: dict[str, str] = {}
        self._data = _read(data, specs) if data else None
        self._whole = self._data is not None and self._is_whole()
        """True if the user's inputs belong to a single call, so no batch can be taken from them."""
        self.open = () if self._whole else self._open_dimensions()
        """Names of the dimensions that can be set."""
        self.most: dict[str, int] = {}
        """Maximum size of each dimension except the batch, limited by the user's inputs."""
        self.takes: dict[str, tuple[int, int]] = {}
        """For each dimension, the minimum size that the model accepts, and the factor of which each size must
        be a multiple. The factor is 0 if the model accepts no larger size.
        """
        if self._data is not None:
            for (_, _, shape), array in zip(specs, self._data, strict=True):
                for axis, n in enumerate(shape[1:], 1):
                    name = axis_name(len(shape), axis)
                    if n is None:
                        self.most[name] = min(array.shape[axis], self.most.get(name, array.shape[axis]))
            self.open = tuple(name for name in self.open if self.most.get(name) != 1)
            self.said = (f"The inputs come from {sanitize_line(Path(data).name, 100)}.",)

    def _ragged(self) -> dict[str, str]:
        """Map each input that holds the row splits of a ragged tensor to the input that holds its values.
        TensorFlow names the two inputs `ids_1` and `ids`.
        """
        splits = [name for name, each in self._known.items() if each.splits]
        others = [name for name, _, shape in self.specs if name not in splits and shape[:1] == (None,)]
        pairs = {}
        for name in splits:
            base = name.rpartition("_")[0]
            pairs[name] = base if base in others else others[0] if len(others) == 1 else ""
        of = [*pairs.values()]
        return {name: base for name, base in pairs.items() if base and of.count(base) == 1}

    def _is_whole(self) -> bool:
        lengths = {
            len(array)
            for (_, _, shape), array in zip(self.specs, self._data or (), strict=True)
            if shape[:1] == (None,)
        }
        return len(lengths) > 1 or any(each.splits for each in self._known.values())

    def _open_dimensions(self) -> tuple[str, ...]:
        """Return the names of the unknown dimensions, batch first. A name that inputs share counts once."""
        names: dict[str, None] = {}
        for name, _, shape in self.specs:
            names |= {self._axis(name, len(shape), i): None for i, n in enumerate(shape) if n is None}
        return tuple(sorted(names, key=lambda name: name != BATCH))

    def _axis(self, name: str, rank: int, axis: int) -> str:
        return VALUES if axis == 0 and name in self._values.values() else axis_name(rank, axis)

    def _shaped(self, name: str, shape: Sequence[int | None], known: Mapping[str, int]) -> tuple[int, ...]:
        return tuple(
            known.get(self._axis(name, len(shape), i), 1) if n is None else n for i, n in enumerate(shape)
        )

    def probe(self) -> None:
        """Call the model on small inputs to find the range of its integers and the sizes it accepts.

        Raises InputError if the model rejects the generated values, and the model's own error if no tried
        size works.
        """
        tried = ((16, 1), (64, 1), (96, 1), (128, 1), (16, 16)) if self._data is None else ((0, 1),)
        for size, batch in tried:
            known = {name: batch if name == BATCH else self.most.get(name, size) for name in self.open}
            try:
                done = self._in_range(known, last=(size, batch) == tried[-1])
            except self._tf.errors.InvalidArgumentError as error:
                if self._data is not None or all(d.startswith(("float", "bfloat")) for _, d, _ in self.specs):
                    raise
                names = ", ".join(name for name, _, _ in self.specs)
                text = sanitize_line(error.message, 200)
                raise InputError(
                    "inputs", f"refused by the model ({text})", f"--data FILE.npz with arrays named {names}"
                ) from error
            if done:
                break
        if self._whole:
            return
        if self._data is None:
            self._tie(known)
        for name in self.open:
            self.takes[name] = self._sizes_taken(name, known)

    def _tie(self, known: Mapping[str, int]) -> None:
        """Find dimensions that must be equal, and merge them into one dimension."""
        free = [name for name in self.open if name != BATCH or known[BATCH] > 1]

        def runs(changed: Sequence[str]) -> bool:
            return self._runs({name: 2 * n if name in changed else n for name, n in known.items()})

        for name in free if len(free) > 1 else ():
            others = [each for each in free if each not in self._tied and each != name]
            if name in self._tied or runs([name]):
                continue
            groups = (group for n in range(1, len(others) + 1) for group in combinations(others, n))
            agreeing = next((group for group in groups if runs([name, *group])), ())
            self._tied |= dict.fromkeys(agreeing, name)
        self.open = tuple(name for name in self.open if name not in self._tied)
        self.said += tuple(
            f"{name.capitalize()} also sets {tied}: they must be equal." for tied, name in self._tied.items()
        )

    def _sizes_taken(self, name: str, known: Mapping[str, int]) -> tuple[int, int]:
        """Return the minimum size of a dimension, and the factor of which each size must be a multiple (see
        `takes`).
        """

        def runs(size: int) -> bool:
            return self._runs(self.sizes({**known, name: size}))

        here, onwards = known[name], 1 if self._data is None or name == BATCH else -1
        apart = (n for n in range(1, here + 1) if here % n == 0)
        of = next((n for n in apart if runs(here + onwards * n)), 0)
        if not of:
            return here, 0
        low, high = 1, here // of
        while low < high:
            # Try the factor itself first: in most models, it is also the minimum size.
            middle = 1 if low == 1 and high == here // of else (low + high) // 2
            low, high = (low, middle) if runs(middle * of) else (middle + 1, high)
        return low * of, of

    def _runs(self, sizes: Mapping[str, int]) -> bool:
        """Return True if the model accepts these sizes. Leaves the integer ranges unchanged."""
        before = dict(self._hints)
        done = self._in_range(sizes, last=False)
        self._hints = before
        return done

    def sizes(self, values: Mapping[str, Value]) -> dict[str, int]:
        """Return the sizes in `values`, and the sizes of the dimensions that must have the same size as one
        of them.
        """
        found = {name: n for name, n in values.items() if isinstance(n, int) and not isinstance(n, bool)}
        return {**found, **{tied: found[name] for tied, name in self._tied.items() if name in found}}

    def _in_range(self, known: Mapping[str, int], last: bool) -> bool:
        for left in reversed(range(LIMITS)):
            arrays = [self._tf.convert_to_tensor(each) for each in self._made(known, largest=True)]
            try:
                self._call(*arrays)
                return True
            except Exception as error:  # a user's layers may raise anything for a size that they refuse
                invalid = isinstance(error, self._tf.errors.InvalidArgumentError)
                made = invalid and self._data is None
                if left and made and (limit := limit_of(error)) and self._lower(limit):
                    continue
                if last:
                    raise
                break
        return False

    def _lower(self, limit: int) -> bool:
        integers = [name for name, dtype, _ in self.specs if dtype.startswith(("int", "uint"))]
        for names in ([n for n in integers if n not in self._known], integers):
            before = dict(self._hints)
            for name in names:
                known = self._hints.get(name, Range(below=INTEGERS))
                if known.below > limit and not known.splits:
                    self._hints[name] = Range(below=limit)
            if before != self._hints:
                return True
        return False

    def copied(self, place: str) -> None:
        """Raise Unavailable if an arm would copy strings to a device, because strings stay on the host."""
        if place == "copied" and any(dtype == "string" for _, dtype, _ in self.specs):
            raise Unavailable("strings are not copied to a device, and this model takes strings")

    def described(self) -> tuple[ModelInput, ...]:
        return tuple(
            ModelInput(
                name=name,
                dtype=dtype,
                shape=tuple(self._named(name, shape, i) if n is None else n for i, n in enumerate(shape)),
                values="given" if self._data is not None else self._words(name, dtype),
            )
            for name, dtype, shape in self.specs
        )

    def _named(self, of: str, shape: Sequence[int | None], axis: int) -> str:
        if of in self._values:
            return f"{BATCH} + 1"
        name = self._axis(of, len(shape), axis)
        return self._tied.get(name, name)

    def arrays(self, values: Mapping[str, Value]) -> list[Any]:
        return self._made(self.sizes(values))

    def _made(self, known: Mapping[str, int], largest: bool = False) -> list[Any]:
        if self._data is not None and self._whole:
            return list(self._data)
        made, out = Made(self._tf), []
        for index, (name, dtype, shape) in enumerate(self.specs):
            at = self._shaped(name, shape, known)
            if self._data is not None:
                out.append(_take_examples(self._data[index], at, shape, name))
            elif name in self._values:
                out.append(made.splits(dtype, at[0], known.get(VALUES, 1)))
            else:
                out.append(made.array(dtype, at, self._hints.get(name, UNKNOWN), largest))
        return out

    def _words(self, name: str, dtype: str) -> str:
        known = self._hints.get(name, UNKNOWN)
        if name in self._values:
            return f"row splits of {self._values[name]}"
        if dtype == "string":
            if known.below:
                return f"{known.below:,} different words"
            return "words from its vocabulary" if known.words else "words from a short list"
        if dtype == "bool":
            return "random true and false values"
        if known.flags:
            return "random zeros and ones"
        if known.words:
            return "keys from its table"
        if dtype.startswith(("int", "uint")) or known.below:
            kind = {"uint8": 256, "int8": 128}.get(dtype, 2**63)
            columns = "".join(f", up to {below - 1:,} in column {at}" for at, below in known.columns[:4])
            return f"integers from {known.low} to {min(kind, known.below or INTEGERS) - 1:,}{columns}"
        return f"numbers from 0 to {known.most or 1:,.0f}"


def _read(data: str, specs: Sequence[Spec]) -> list[Any]:
    """Read the arrays of a `.npz` or `.tfrecord` file, matched by the inputs' names or else in order."""
    path = Path(data)
    named = sanitize_line(path.name, 200)
    if path.stat().st_size > LARGEST_DATA:
        raise InputError("--data", named, f"at most {LARGEST_DATA:,} bytes")
    if path.suffix in (".tfrecord", ".tfrecords"):
        return _records(path, specs)
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (ValueError, OSError, EOFError, AttributeError) as error:
        raise InputError("--data", f"{named} ({error})", "a .npz file written by numpy.savez") from None
    names = [name for name, _, _ in specs]
    if not all(name in arrays for name in names):
        if len(arrays) < len(names):
            raise InputError("--data", f"{named}: {', '.join(arrays)}", "arrays named " + ", ".join(names))
        names = list(arrays)[: len(names)]
    out = []
    for (name, dtype, shape), key in zip(specs, names, strict=True):
        array = arrays[key]
        fits = array.ndim == len(shape) and all(
            n in (None, have) for n, have in zip(shape[1:], array.shape[1:], strict=True)
        )
        if not fits or not array.size:
            raise InputError(f"--data {named}: {key}", array.shape, f"the shape of {name}, {shape}")
        out.append(array.astype(object if dtype == "string" else dtype))
    return out


def _records(path: Path, specs: Sequence[Spec]) -> list[Any]:
    """Return the first 4,096 examples of a TFRecord file whose features have the inputs' names."""
    import tensorflow as tf

    features = {}
    for name, dtype, shape in specs:
        if None in shape[1:]:
            raise InputError("--data", path.name, f"a .npz file: {name} has unknown dimensions")
        kind = tf.string if dtype == "string" else tf.int64 if "int" in dtype else tf.float32
        features[name] = tf.io.FixedLenFeature([n for n in shape[1:] if n], kind)
    try:
        rows = [
            tf.io.parse_single_example(r, features) for r in tf.data.TFRecordDataset(str(path)).take(4_096)
        ]
    except tf.errors.OpError as error:
        text = sanitize_line(error.message, 200)
        raise InputError("--data", f"{path.name} ({text})", "features " + ", ".join(features)) from None
    if not rows:
        raise InputError("--data", path.name, "at least one example")
    return [
        np.stack([row[name].numpy() for row in rows]).astype(object if dtype == "string" else dtype)
        for name, dtype, _ in specs
    ]


def _take_examples(array: Any, at: tuple[int, ...], shape: Sequence[int | None], name: str) -> Any:
    """Return as many examples as the shape requires, repeated if there are too few.

    Raises InputError if another dimension is too small.
    """
    if not shape:
        return array
    if any(want > have for want, have in zip(at[1:], array.shape[1:], strict=True)):
        raise InputError(f"--data: {name}", array.shape[1:], f"at least {at[1:]} per example")
    rows = np.take(array, range(at[0]), axis=0, mode="wrap")
    return np.ascontiguousarray(rows[tuple(slice(n) for n in at)])
