"""Finds the shapes of a user function's arguments, and builds calls with arrays of these shapes.

Shapes come from `--input`, an `input_signature`, a `tf.TensorSpec` annotation or a docstring example.
"""

import ast
import functools
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

import msgspec
import numpy as np

from tuilab.model.errors import InputError
from tuilab.model.parameters import Integer, LogInteger, Parameter, Value
from tuilab.model.shapes import Argument, Constant, Shape, Size, checked, text_of
from tuilab.worker.models.inputs import BATCH, INTEGERS, Made, axis_name, limit_of, usual_size
from tuilab.worker.ranges import UNKNOWN, Range, read
from tuilab.worker.suggest import Trace
from tuilab.workloads import declare as own
from tuilab.workloads.base import Build, Case

TRIES = 8
"""Maximum number of calls in a search for the largest valid integer of an input."""


class ShapesNeededError(InputError):
    """Raised if a function has arguments of unknown shape.

    trace: traces the function with given shapes for the arguments in `lacking`. known: the shapes of all
    other arguments.
    """

    def __init__(self, name: str, lacking: Sequence[str], trace: Trace, known: Sequence[str] = ()) -> None:
        self.lacking, self.trace, self.known = tuple(lacking), trace, tuple(known)
        self._function = name.rpartition(":")[2]
        super().__init__(name, lacking, "shapes", self.text(()))

    def text(self, suggested: Sequence[str]) -> str:
        have = "has" if len(self.lacking) == 1 else "have"
        pairs = zip(self.lacking, suggested, strict=False)
        given = " ".join(f"--input {name}={shape}" for name, shape in pairs)
        given = f"pass {given}" if given else "no usual shape is known to fit; pass --input NAME=DTYPE[SIZES]"
        caught = f"call tuilab.capture({self._function}, …) in the program that uses it"
        return f"{' and '.join(self.lacking)} {have} no known shape; {given}, or {caught}"


def unwrapped(function: Any) -> Any:
    inner = getattr(function, "python_function", None)
    return inner if callable(inner) and not hasattr(function, "concrete_functions") else function


def underlying(function: Any) -> Any:
    """Return the plain Python function behind a callable, to read its annotations and docstring."""
    while isinstance(function, functools.partial):
        function = function.func
    function = unwrapped(function)
    if not inspect.isroutine(function) and not inspect.isclass(function):
        function = getattr(function, "call", None) or type(function).__call__
    return unwrapped(function)


def signature(function: Any, name: str) -> inspect.Signature:
    """Return the signature of a callable, or of a Keras layer's `call`. Raises InputError."""
    call = getattr(function, "call", None) if not inspect.isroutine(function) else None
    try:
        return inspect.signature(unwrapped(call if callable(call) else unwrapped(function)))
    except (ValueError, TypeError):
        raise InputError(
            name, type(function).__name__, "a callable with a signature that Python can inspect"
        ) from None


def annotations(function: Any) -> Mapping[str, Any]:
    """Return the annotation of each parameter. Raises InputError for an annotation with an undefined name."""
    try:
        return inspect.get_annotations(underlying(function), eval_str=True)
    except NameError as error:
        raise InputError("annotation", error.name, "a name defined or imported in the file") from None
    except (TypeError, SyntaxError, AttributeError):
        return {}


@dataclass
class Arguments:
    """The arguments of a call, with a Shape or Constant for each value that `filled` creates."""

    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    parameters: tuple[Parameter, ...] = ()
    bound: frozenset[str] = frozenset()
    """Names of the function's parameters that receive an argument."""
    ranges: dict[str, Range] = field(default_factory=dict)
    """Value ranges that `learn` found, by tensor name."""
    _learned: Mapping[str, Value] | None = field(default=None, repr=False)

    def filled(self, tf: Any, values: Mapping[str, Value], largest: bool = False) -> tuple[Any, Any]:
        """Return args and kwargs with arrays of the sizes in `values`. largest: fill integer arrays with
        their largest valid value.
        """
        made = Made(tf)

        def fill(leaf: Any) -> Any:
            if not isinstance(leaf, Shape):
                return self._constant(leaf, values)
            at = _sizes(leaf, values)
            if _is_free(leaf):
                return made.array(leaf.dtype, at, self.ranges.get(leaf.name, UNKNOWN), largest)
            return made.between(leaf.dtype, at, leaf.low, leaf.high)

        return mapped(fill, self.args), mapped(fill, self.kwargs)

    def chosen(self, filled: Any) -> list[tuple[str, int]]:
        """Return name and value of each single integer that `filled` chose without a given range."""
        pairs = zip(leaves((self.args, self.kwargs)), leaves(filled), strict=True)
        return [
            (leaf.name, int(value))
            for leaf, value in pairs
            if isinstance(leaf, Shape) and not leaf.shape and "int" in leaf.dtype and _is_free(leaf)
        ]

    def _shapes(self) -> list[Shape]:
        return [leaf for leaf in leaves((self.args, self.kwargs)) if isinstance(leaf, Shape)]

    def _constant(self, leaf: Any, values: Mapping[str, Value]) -> Any:
        return values.get(leaf.name, leaf.value) if isinstance(leaf, Constant) else leaf

    def _traceable(
        self, tf: Any, call: Callable[..., Any], values: Mapping[str, Value]
    ) -> tuple[Callable[..., Any], list[Any]]:
        def traced(*tensors: Any) -> Any:
            given = iter(tensors)

            def put(leaf: Any) -> Any:
                return next(given) if isinstance(leaf, Shape) else self._constant(leaf, values)

            args, kwargs = mapped(put, self.args), mapped(put, self.kwargs)
            return call(*args, **kwargs)

        return traced, [tf.TensorSpec(_sizes(leaf, values), leaf.dtype) for leaf in self._shapes()]

    def trace(self, call: Callable[..., Any]) -> None:
        """Trace the call in a separate graph, where TensorFlow creates variables without running an eager op.

        Raises whatever the call raises.
        """
        tf = sys.modules["tensorflow"]
        traced, specs = self._traceable(tf, call, {})
        with tf.Graph().as_default():
            tf.function(traced).get_concrete_function(*specs)

    def learn(self, tf: Any, call: Callable[..., Any], values: Mapping[str, Value]) -> None:
        """Find the valid values of integer, string and mask inputs by reading the graph.

        If the graph shows no limit for an integer input, tries smaller and smaller integers until a call
        succeeds.
        """
        names = [leaf.name for leaf in self._shapes()]
        free = [leaf for leaf in self._shapes() if _is_free(leaf) and _may_count(leaf)]
        if not free or self._learned == values:
            return
        self._learned = dict(values)
        found = dict(zip(names, read(tf, *self._traceable(tf, call, values), names), strict=False))
        self.ranges = {leaf.name: found.get(leaf.name, UNKNOWN) for leaf in free}
        unknown = [s.name for s in free if "int" in s.dtype and self.ranges[s.name] == UNKNOWN]
        self.ranges |= dict.fromkeys(unknown, Range(below=INTEGERS))
        for _ in range(TRIES if unknown else 0):
            filled = self.filled(tf, values, largest=True)
            try:
                with tf.device("/CPU:0"):
                    args, kwargs = mapped(tf.convert_to_tensor, filled, arrays=True)
                    call(*args, **kwargs)
                return
            except tf.errors.InvalidArgumentError as error:
                limit = limit_of(error)
                if not limit or all(self.ranges[name].below <= limit for name in unknown):
                    return
                self.ranges |= {name: Range(below=min(limit, self.ranges[name].below)) for name in unknown}
            except Exception:  # user code may raise anything; the arm's own call reports it
                return


def _sizes(leaf: Shape, values: Mapping[str, Value]) -> tuple[int, ...]:
    return tuple(int(values.get(each.name, each.size)) for each in leaf.shape)


def _is_free(leaf: Shape) -> bool:
    """Return True if the user gave no range for the values."""
    return leaf.low is leaf.high is None


def _may_count(leaf: Shape) -> bool:
    return "int" in leaf.dtype or leaf.dtype == "string" or "mask" in leaf.name.lower()


def mapped(change: Callable[[Any], Any], value: Any, arrays: bool = False) -> Any:
    """Apply `change` to each leaf of nested tuples, lists and dicts. arrays: change only NumPy arrays."""
    if isinstance(value, dict):
        return {key: mapped(change, each, arrays) for key, each in value.items()}
    if isinstance(value, (tuple, list)):
        inner = [mapped(change, each, arrays) for each in value]
        return type(value)(*inner) if hasattr(value, "_fields") else type(value)(inner)
    return change(value) if not arrays or hasattr(value, "nbytes") else value


def leaves(value: Any) -> list[Any]:
    found: list[Any] = []
    mapped(found.append, value)
    return found


def find(target: Any, name: str, given: Sequence[Argument], scope: Mapping[str, Any]) -> Arguments | None:
    """Return the arguments for a call of `target`; None if `target` builds its own inputs.

    scope: the names that the target's file defines. Raises ShapesNeededError if shapes are unknown. Raises
    InputError if `target` accepts no argument of a name in `given`, or requires a value other than a tensor
    that `given` lacks.
    """
    if (traced := _graph_arguments(target)) is not None:
        return traced
    accepts = signature(target, name)
    by_name = _group(checked(given))
    signed = _signature_shapes(target, accepts)
    hints = annotations(target)
    found: dict[str, Any] = {}
    lacking: list[str] = []
    for each in accepts.parameters.values():
        if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD):
            continue
        if each.name in by_name:
            found[each.name] = by_name.pop(each.name)
        elif each.name in signed:
            found[each.name] = signed[each.name]
        elif (spec := _annotated_spec(hints.get(each.name))) is not None:
            found[each.name] = _shaped(spec, each.name)
        elif each.default is each.empty:
            lacking.append(each.name)
    kinds = {each.kind for each in accepts.parameters.values()}
    if by_name and not kinds & {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL}:
        takes = ", ".join(accepts.parameters) or "no argument"
        raise InputError(
            name, next(iter(by_name)), takes, f"--input {next(iter(by_name))}: the function takes {takes}"
        )
    if lacking and not given and (example := _example(target, name, scope)) is not None:
        return Arguments(*example, bound=frozenset(accepts.parameters))
    if lacking:
        whole = [each for each in lacking if hints.get(each) in (int, float, bool, str)]
        if whole:
            expected = f"a default, as in {whole[0]}=32, or --input {whole[0]}=32"
            raise InputError(name, whole[0], expected, f"{whole[0]} needs {expected}")

        def trace(shapes: Mapping[str, Argument]) -> None:
            checked([*given, *shapes.values()])
            Arguments(*_split_positional(accepts, {**found, **shapes})).trace(unwrapped(target))

        known = [text_of(each).partition("=")[2] for each in given if isinstance(each, Shape)]
        raise ShapesNeededError(name, lacking, trace, known)
    args, kwargs = _split_positional(accepts, found)
    if by_name and inspect.Parameter.VAR_KEYWORD in kinds:
        kwargs |= by_name
    elif by_name:
        args += tuple(by_name.values())
    if not args and not kwargs:
        return None
    return Arguments(args, kwargs, _parameters((args, kwargs)), frozenset(found))


def _graph_arguments(target: Any) -> Arguments | None:
    """Return the arguments of a ConcreteFunction or of a SavedModel's function; None for other callables."""
    graphs = getattr(target, "concrete_functions", None) or [target]
    structured = getattr(graphs[0], "structured_input_signature", None)
    if structured is None:
        return None
    args, kwargs = (_replace_specs(part, "input") for part in structured)
    return Arguments(args, kwargs, _parameters((args, kwargs)))


def is_graph(target: Any) -> bool:
    return hasattr(target, "structured_input_signature") or hasattr(target, "concrete_functions")


def _split_positional(
    accepts: inspect.Signature, found: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments as args and kwargs: by position up to the first missing or keyword-only parameter,
    and the rest by keyword.
    """
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    gap = False
    for each in accepts.parameters.values():
        gap = gap or each.name not in found or each.kind is each.KEYWORD_ONLY
        if each.name in found and not gap:
            args.append(found[each.name])
        elif each.name in found:
            kwargs[each.name] = found[each.name]
    return tuple(args), kwargs


def _group(given: Sequence[Argument]) -> dict[str, Any]:
    """Merge the arguments for one parameter: `x.0` and `x.1` become a tuple, `x.key` becomes a dict entry."""
    tree: dict[str, Any] = {}
    for argument in given:
        *path, last = argument.name.split(".")
        place = tree
        for part in path:
            place = place.setdefault(part, {})
            if not isinstance(place, dict):
                raise InputError("--input", text_of(argument), f"{part} or its parts, not both")
        if last in place:
            raise InputError("--input", text_of(argument), f"{last} or its parts, not both")
        place[last] = argument

    def shaped(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        if all(key.isdigit() for key in value):
            return tuple(shaped(value[key]) for key in sorted(value, key=int))
        return {key: shaped(each) for key, each in value.items()}

    return {name: shaped(value) for name, value in tree.items()}


def _signature_shapes(target: Any, accepts: inspect.Signature) -> dict[str, Any]:
    specs = getattr(target, "input_signature", None)
    names = list(accepts.parameters)
    if isinstance(specs, (tuple, list)):
        return {name: _replace_specs(spec, name) for name, spec in zip(names, specs, strict=False)}
    return _built(target, names) if callable(getattr(target, "get_build_config", None)) else {}


def _built(layer: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return the input shapes for which a Keras layer was built, with an adjustable batch size."""
    config = layer.get_build_config() or {}
    shapes = config.get("shapes_dict") or {"input_shape": config.get("input_shape")}
    found: dict[str, Any] = {}
    for key, shape in shapes.items():
        name = names[0] if key == "input_shape" and names else str(key).removesuffix("_shape")
        known = isinstance(shape, (tuple, list)) and all(n is None or isinstance(n, int) for n in shape)
        if name in names and known:
            sizes = tuple(_dimension(None if not i else n, len(shape), i) for i, n in enumerate(shape))
            found[name] = Shape(name, _layer_dtype(layer), sizes)
    return found


def _layer_dtype(layer: Any) -> str:
    integers = type(layer).__name__ == "Embedding"
    return "int32" if integers else str(getattr(layer, "compute_dtype", None) or "float32")


def _dimension(size: int | None, rank: int, axis: int) -> Size:
    if size is not None:
        return Size(size)
    name = axis_name(rank, axis)
    return Size(usual_size(name), name)


def _replace_specs(spec: Any, name: str) -> Any:
    if isinstance(spec, dict):
        return {key: _replace_specs(each, f"{name}.{key}") for key, each in spec.items()}
    if isinstance(spec, (tuple, list)):
        return type(spec)(_replace_specs(each, f"{name}.{i}") for i, each in enumerate(spec))
    return _shaped(spec, name) if hasattr(spec, "dtype") and hasattr(spec, "shape") else spec


def _shaped(spec: Any, name: str) -> Shape:
    if type(spec).__name__ != "TensorSpec":
        expected = "a tf.TensorSpec; for ragged or sparse inputs, a function that returns (step, inputs)"
        raise InputError(name, str(spec), expected)
    if spec.shape.rank is None:
        raise InputError(name, str(spec), f"a shape with a rank: --input {name}={spec.dtype.name}[SIZES]")
    dimensions = spec.shape.as_list()
    sizes = tuple(_dimension(n, len(dimensions), i) for i, n in enumerate(dimensions))
    return Shape(name, spec.dtype.name, sizes)


def _annotated_spec(hint: Any) -> Any:
    found = (each for each in (hint, *get_args(hint)) if type(each).__name__ == "TensorSpec")
    return next(found, None)


class _CalledError(Exception):
    """Raised when a docstring example calls its function, to capture the arguments."""


def _example(target: Any, name: str, scope: Mapping[str, Any]) -> tuple[Any, Any] | None:
    """Return the arguments of the example call in the function's docstring, as in `>>> step(tf.ones([32,
    64]))`.

    Runs the assignments, imports and expressions before that call, as doctest does.
    """
    import doctest  # imported here because the import is slow and only this function needs it

    import tensorflow

    caught: list[tuple[Any, Any]] = []

    def record(*args: Any, **kwargs: Any) -> None:
        caught.append((args, kwargs))
        raise _CalledError

    known = {"tf": tensorflow, "np": np, **scope, name.rpartition(":")[2]: record}
    try:
        for each in doctest.DocTestParser().get_examples(inspect.getdoc(underlying(target)) or ""):
            parsed = ast.parse(each.source)
            if all(isinstance(n, (ast.Assign, ast.Import, ast.ImportFrom, ast.Expr)) for n in parsed.body):
                exec(compile(parsed, "<docstring>", "exec"), known)
    except _CalledError:
        return caught[0]
    except Exception:  # an outdated example provides no shapes
        return None
    return None


def _parameters(arguments: Any) -> tuple[Parameter, ...]:
    found: dict[str, Parameter] = {}
    for leaf in leaves(arguments):
        if isinstance(leaf, Constant) and isinstance(leaf.value, int) and not isinstance(leaf.value, bool):
            found[leaf.name] = own.whole(leaf.name, leaf.value, "An argument.")
        for each in leaf.shape if isinstance(leaf, Shape) else ():
            if each.name:
                found.setdefault(each.name, own.whole(each.name, each.size, "A dimension of the inputs."))
    return tuple(sorted(found.values(), key=lambda p: p.name != BATCH))


def with_own(parameters: Sequence[Parameter], dimensions: Sequence[Parameter]) -> tuple[Parameter, ...]:
    """Return the dimensions followed by the function's own parameters.

    A parameter with the name of a dimension starts at that dimension's size.
    """
    sizes = {p.name: p for p in dimensions}
    both = {
        p.name: msgspec.structs.replace(p, default=sizes[p.name].default)
        for p in parameters
        if isinstance(p, (Integer, LogInteger))
        and p.name in sizes
        and p.low <= int(sizes[p.name].default) <= p.high
    }
    rest = tuple(p for p in parameters if p.name not in sizes)
    return tuple(both.get(p.name, p) for p in dimensions) + rest


def case(b: Build, step: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Case:
    """Return a case (the callable part of an arm) that calls `step`.

    Tensors and arrays among the arguments are inputs of the case; other arguments are constants.
    """
    tf, arrays = b.tf, []
    composites = (tf.RaggedTensor, tf.SparseTensor, tf.IndexedSlices)

    def slot(value: Any) -> Any:
        if isinstance(value, composites):
            parts = [slot(each) for each in tf.nest.flatten(value, expand_composites=True)]
            pack = functools.partial(tf.nest.pack_sequence_as, value, expand_composites=True)
            return _Composite(pack, parts)
        if not is_data(tf, value):
            return value
        array = value.numpy() if hasattr(value, "numpy") else value
        # A scalar string is Python's bytes.
        arrays.append(np.array(array, dtype=object) if isinstance(array, bytes) else array)
        return _Slot(len(arrays) - 1)

    args, kwargs = mapped(slot, args), mapped(slot, dict(kwargs))
    step = unwrapped(step)
    if not kwargs and all(isinstance(each, _Slot) for each in args):
        return b.tensors(step, *arrays)

    def fill(tensors: Sequence[Any], leaf: Any) -> Any:
        if isinstance(leaf, _Composite):
            return leaf.pack([fill(tensors, part) for part in leaf.parts])
        return tensors[leaf.index] if isinstance(leaf, _Slot) else leaf

    def packing(inputs: Sequence[Any]) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
        return lambda tensors: tuple(mapped(functools.partial(fill, tensors), each) for each in inputs)

    # As in the user's own program, TensorFlow binds defaults and unpacks nested arguments in each call.
    if (whole := positional(step, args, kwargs)) is not None:
        return b.tensors(step, *arrays, pack=packing(whole))
    places = [i for i, each in enumerate(args) if _has_slots(each)]
    names = [name for name, each in kwargs.items() if _has_slots(each)]

    def call(*given: Any) -> Any:
        filled, named = list(args), dict(kwargs)
        for index, value in zip(places, given, strict=False):
            filled[index] = value
        named.update(zip(names, given[len(places) :], strict=True))
        return step(*filled, **named)

    inputs = [*(args[i] for i in places), *(kwargs[name] for name in names)]
    return b.tensors(call, *arrays, pack=packing(inputs))


def positional(
    step: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[Any, ...] | None:
    """Return all arguments in positional order; None if one is keyword-only, or is neither a tensor nor a
    plain value.
    """
    plain = (_Slot, _Composite, str, int, float, bool, type(None))
    if not all(isinstance(leaf, plain) for leaf in leaves((tuple(args), dict(kwargs)))):
        return None
    if not kwargs:
        return tuple(args)
    try:
        bound = inspect.signature(step).bind(*args, **kwargs)
    except (TypeError, ValueError):
        return None
    bound.apply_defaults()
    fits = not bound.kwargs and all(isinstance(leaf, plain) for leaf in leaves(bound.args))
    return bound.args if fits else None


def _has_slots(value: Any) -> bool:
    return any(isinstance(leaf, (_Slot, _Composite)) for leaf in leaves(value))


@dataclass(frozen=True)
class _Slot:
    index: int


@dataclass(frozen=True)
class _Composite:
    """A ragged or sparse argument, split into its component tensors."""

    pack: Callable[[Sequence[Any]], Any]
    parts: Sequence[Any]


def is_data(tf: Any, value: Any) -> bool:
    if isinstance(value, (np.ndarray, np.generic)):
        return True
    return bool(tf.is_tensor(value)) and not isinstance(value, tf.Variable) and not hasattr(value, "assign")
