"""Loads user code as a workload: `path/to/file.py:name`.

The name refers to one of:

- a Keras model or layer: measures its call on a random batch;
- a callable with arguments of known shape (`worker.arguments`): measures it on random tensors;
- a function of the declared parameters; its return value decides what is measured:
  tensors: the function itself;
  a callable: that callable;
  a callable and its inputs, `(step, (x, y))` or `(step, x, y)`, with a final dict for keyword arguments: the
  callable on these inputs, which stay on the device or are copied there in each call;
  a callable and a `tf.data.Dataset`: the callable on each element, including the time to fetch it;
  a Keras model: its call on a random batch;
- a `tuilab.workloads.base.Workload`: used unchanged.

`name` may contain dots: `model.encode` of an object, or `Model.encode` of a class without required arguments.

`worker.models` opens model files.
"""

import dataclasses
import functools
import gc
import hashlib
import importlib.util
import inspect
import os
import sys
import sysconfig
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from tuilab.model.errors import InputError
from tuilab.model.events import CHOSEN, Declared, Refused
from tuilab.model.files import expanded, open_regular, read_regular
from tuilab.model.parameters import LogInteger, Value
from tuilab.model.requests import Declare, Request
from tuilab.model.sanitize import sanitize_line
from tuilab.model.scenario import AS_IT_IS, Opening, Scenario
from tuilab.model.shapes import Argument
from tuilab.model.subject import Model, subject_of
from tuilab.model.workload import Declaration
from tuilab.worker.arguments import (
    Arguments,
    ShapesNeededError,
    annotations,
    case,
    find,
    is_data,
    is_graph,
    positional,
    signature,
    unwrapped,
    with_own,
)
from tuilab.worker.context import Context, Tell
from tuilab.worker.models import open_model
from tuilab.worker.models.inputs import Given
from tuilab.worker.models.keras_file import inputs_of, packed
from tuilab.worker.suggest import suggest
from tuilab.worker.tracebacks import PACKAGE, owns, text_of, user_traceback
from tuilab.workloads import declare as own
from tuilab.workloads.base import Build, Case, Mark, Workload
from tuilab.workloads.parts.drain import LEAST_CALLS, Drain, drawing

BATCH = LogInteger(name="batch", help="Examples in one call of the model.", default=32, low=1, high=4_096)
_imported: set[int] = set()
"""Ids of the iterators that a file creates while it is loaded. All arms of the file share these iterators."""
_loaded: dict[str, tuple[tuple[int, int], ModuleType]] = {}


def declare(context: Context, request: Request) -> None:
    """Answer a Declare request with the declaration, or with the error that the user's code raised."""
    assert isinstance(request, Declare)
    try:
        declaration = load(request.file, request.opening, context.telling(request.id)).declaration
    except ShapesNeededError as error:
        suggested = suggest(error.lacking, error.trace, error.known)
        refused = Refused(
            request=request.id, message=error.text(suggested), lacking=error.lacking, suggested=suggested
        )
    except InputError:
        raise
    except (Exception, SystemExit) as error:
        text = sanitize_line(f"{type(error).__name__}: {text_of(error)}", 500)
        refused = Refused(request=request.id, message=text, detail=user_traceback(error))
    else:
        context.send(Declared(request=request.id, file=request.file, declaration=declaration))
        return
    context.send(msgspec.structs.replace(refused, where=sanitize_line(request.file, 300)))


def load(file: str, opening: Opening = AS_IT_IS, tell: Tell | None = None) -> Workload:
    """Return the workload in `path/to/file.py:name` or in a model file. tell: receives loading progress.

    Raises InputError, or whatever the file's code raises.
    """
    path, colon, name = file.rpartition(":")
    if isinstance(subject_of(file), Model):
        if opening.code:
            _module(expanded(opening.code))

        return open_model(file, opening, tell)
    parts = name.split(".")
    if not colon or not all(part.isidentifier() for part in parts) or not path.endswith(".py"):
        raise InputError("file", sanitize_line(file, 300), "path/to/file.py:name")
    module = _module(expanded(path))
    place = f"{sanitize_line(path, 300)}:{name}"
    target: Any = module
    owners = []
    for part in parts:
        if isinstance(target, type) and not isinstance(vars(target).get(part), (staticmethod, classmethod)):
            target = _instance(target, place)
        if not hasattr(target, part):
            public = [n for n, v in vars(module).items() if _is_offered(v, module)]
            expected = "a name defined in the file: " + ", ".join(public[:20])
            raise InputError(f"{sanitize_line(path, 300)}: name", name, expected)
        owners.append(target)
        target = getattr(target, part)
    made = _workload(target, name, place, opening.inputs, vars(module))
    # Keep the owners alive: a method decorated with tf.function has only a weak reference to its object.
    return dataclasses.replace(made, holds=(made.holds, owners))


def _workload(
    target: Any, name: str, place: str, inputs: Sequence[Argument], scope: Mapping[str, Any]
) -> Workload:
    """Return the workload for an object from a user's file. Raises InputError for an unsupported object."""
    if isinstance(target, Workload):
        return target
    if isinstance(target, type):
        target = _instance(target, place)
    if _is_model(target) and getattr(target, "inputs", None) and not inputs:
        return Workload(_model_declaration(target, name), lambda b: _model_case(b, _clone(b, target)))
    if not callable(target) or is_data(sys.modules["tensorflow"], target):
        raise InputError(place, type(target).__name__, "a function, a Keras layer or a Keras model")
    found = find(target, place, inputs, scope)
    if _is_layer(target) and found is None:
        layer = target
        raise ShapesNeededError(
            place, ["inputs"], lambda shapes: Arguments(tuple(shapes.values())).trace(layer)
        )
    bound = found.bound if found else frozenset()
    accepts, hints = signature(target, place), annotations(target)
    if is_graph(target):
        accepts = inspect.Signature()
    declared = own.declaration(target, name, accepts, hints, bound)
    if found is None:
        function = unwrapped(target)
        return Workload(declared, lambda b: _case(b, function))
    modes = tuple(mode for mode in declared.modes if mode != "eager" or not is_graph(target))
    parameters = with_own(declared.parameters, found.parameters)
    axis = declared.axis if not found.parameters else found.parameters[0].name
    declared = msgspec.structs.replace(declared, parameters=parameters, modes=modes, axis=axis)
    names = frozenset(accepts.parameters) - bound
    return Workload(declared, lambda b: _call_case(b, target, found, names))


def _instance(target: type, place: str) -> Any:
    try:
        inspect.signature(target).bind()
    except (TypeError, ValueError):
        expected = (
            f"an object: create it in the file, as in made = {target.__name__}(…), and pass its name, made"
        )
        raise InputError(place, "a class that needs arguments", expected) from None
    return target()


def _call_case(b: Build, target: Any, found: Arguments, names: Collection[str]) -> Case:
    step = _clone(b, target) if _is_layer(target) else unwrapped(target)
    if own_values := {name: value for name, value in b.values.items() if name in names}:
        step = functools.partial(step, **own_values)
    found.learn(b.tf, step, b.values)
    args, kwargs = found.filled(b.tf, b.values)
    for name, value in found.chosen((args, kwargs)):
        text = f"{name} is {value:,}, a random integer; --input '{name}=int32[]:50..50' sets it to 50"
        b.fact(CHOSEN + name, value, text)
    return case(b, step, args, kwargs)


def _is_offered(value: Any, module: ModuleType) -> bool:
    if _is_model(value) or isinstance(value, Workload):
        return True
    return callable(value) and getattr(value, "__module__", "") == module.__name__


LARGEST = 8_000_000


def _module(path: Path) -> ModuleType:
    with open_regular(path, LARGEST) as file:
        status = os.fstat(file.fileno())
    key, version = str(path.resolve()), (status.st_mtime_ns, status.st_size)
    if key in _loaded and _loaded[key][0] == version:
        return _loaded[key][1]
    spec = importlib.util.spec_from_file_location(
        f"tuilab_own_{hashlib.sha256(key.encode()).hexdigest()[:12]}", key
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    folder = str(Path(key).parent)
    owns(folder)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    _print_at_once()
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[spec.name]
        raise
    _loaded[key] = (version, module)
    if (tf := sys.modules.get("tensorflow")) is not None:
        _imported.update(
            id(each) for each in vars(module).values() if issubclass(type(each), tf.data.Iterator)
        )
    return module


def versions(scenario: Scenario) -> dict[str, str]:
    """Return a hash for each user file: the workload or model, and the user's modules that it imports.

    Keys are file names, relative to the first file's folder if possible; {} for built-in workloads.
    """
    if not scenario.file:
        return {}
    named = [subject_of(scenario.file).path, scenario.opening.code]
    first = expanded(named[0])
    first = first if first.exists() else expanded(scenario.file)
    files = [first, *(expanded(name) for name in named[1:] if name), *_imported_files()]
    found: dict[str, str] = {}
    for file in dict.fromkeys(path.resolve() for path in files):
        name = os.path.relpath(file, first.resolve().parent)
        found[sanitize_line(file.name if name.startswith("..") else name, 200)] = _version(file)
    return found


def _imported_files() -> list[Path]:
    paths = {*sysconfig.get_paths().values(), sys.prefix, sys.base_prefix, str(PACKAGE)}
    others = tuple(f"{path}{os.sep}" for path in paths)
    names = map(_file_of, list(sys.modules.values()))
    return [Path(name) for name in names if _is_source(name, others)]


def _file_of(module: object) -> str:
    """Return a module's `__file__` without triggering a lazy import, which may raise."""
    if not issubclass(type(module), ModuleType):
        return ""
    return str(object.__getattribute__(module, "__dict__").get("__file__", ""))


def _is_source(name: str, others: tuple[str, ...]) -> bool:
    own = name.endswith(".py") and "\0" not in name
    return own and not name.startswith(others) and "site-packages" not in name


def _version(file: Path) -> str:
    try:
        if file.is_file() and file.stat().st_size <= LARGEST:
            return hashlib.sha256(read_regular(file, LARGEST)).hexdigest()[:16]
        inner = sorted(file.rglob("*")) if file.is_dir() else [file]
        seen = [(each.name, each.stat().st_size, each.stat().st_mtime_ns) for each in inner]
        return hashlib.sha256(repr(seen).encode()).hexdigest()[:16]
    except (OSError, InputError):
        return ""


def _print_at_once() -> None:
    """Make Python flush standard output after each line, so that the output of user code reaches the log at
    once.
    """
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(line_buffering=True)


def _is_model(value: Any) -> bool:
    keras = sys.modules.get("keras")
    return keras is not None and isinstance(value, keras.Model)


def _is_layer(value: Any) -> bool:
    keras = sys.modules.get("keras")
    return keras is not None and isinstance(value, keras.layers.Layer)


def _model_declaration(model: Any, name: str) -> Declaration:
    return Declaration(
        name=name,
        title=name,
        summary=f"A Keras model with {model.count_params():,} weights, called on a random batch.",
        unit="call",
        parameters=(BATCH,),
        axis="batch",
    )


def _case(b: Build, function: Callable[..., Any]) -> Case:
    """Call the function in the arm's device scope, and return the case for its return value."""
    values: Mapping[str, Value] = dict(b.values)
    before = {id(each) for each in _iterators(b.tf)} - _imported
    with b.tf.device(b.device):
        returned = function(**values)
    case = _returned(b, function, values, returned)
    if case.datasets:
        return case
    own = [each for each in _iterators(b.tf) if id(each) not in before]
    return _drain_between_blocks(case, drawing(own)) if own else case


def _iterators(tf: Any) -> list[Any]:
    gc.collect()
    return [each for each in gc.get_objects() if issubclass(type(each), tf.data.Iterator)]


def _drain_between_blocks(case: Case, draw: Callable[[], object]) -> Case:
    """Return the case, changed so that a pipeline that prefetches is drained before each block and idle after
    it.
    """
    drain = Drain(draw)
    drain.pace()
    drain.empty()
    if drain.ready:
        drain.rest()
        inner = case.scope
        case.scope = lambda: drain.running(inner(), case.call)
        case.drained, case.least_calls = True, LEAST_CALLS
    return case


def _feed_case(b: Build, step: Callable[..., Any], dataset: Any) -> Case:
    compiled, iterator = b.compiled(step), iter(dataset)

    def drawn() -> tuple[Any, ...]:
        nonlocal iterator
        try:
            element = next(iterator)
        except StopIteration:
            # `repeat` cannot be used, because TensorFlow would add a prefetch after it.
            iterator = iter(dataset)
            element = next(iterator)
        return element if isinstance(element, tuple) else (element,)

    def marked(mark: Mark) -> Any:
        with mark("input_wait"):
            given = drawn()
        return compiled(*given)

    case = Case(
        call=lambda: compiled(*drawn()),
        scope=lambda: b.tf.device(b.device),
        marked=marked,
        function=compiled,
        arguments=drawn(),
        datasets=(dataset,),
    )
    return _drain_between_blocks(case, drawn)


def _returned(b: Build, function: Callable[..., Any], values: Mapping[str, Value], returned: Any) -> Case:
    if _is_model(returned):
        return _model_case(b, returned)
    tf = b.tf
    if isinstance(returned, (tuple, list)) and returned and _is_step(tf, returned[0]):
        step, *inputs = returned
        if len(inputs) == 1 and isinstance(inputs[0], tf.data.Dataset):
            return _feed_case(b, step, inputs[0])
        if not inputs:
            raise InputError("return value", _described(returned), RETURNED)
        args, kwargs = _inputs(step, inputs)
        return case(b, step, args, kwargs)
    if _is_step(tf, returned) and not _is_layer(returned):
        return b.tensors(unwrapped(returned))
    if isinstance(returned, tf.data.Dataset):
        raise InputError(
            "return value", "a tf.data.Dataset", "(step, dataset): the step runs on each element"
        )
    results = tf.nest.flatten(returned)
    if not any(hasattr(each, "dtype") for each in results) or any(_is_step(tf, each) for each in results):
        raise InputError("return value", _described(returned), RETURNED)
    function = unwrapped(function)
    if (given := positional(function, (), values)) is not None:
        return b.tensors(function, pack=lambda _: given)
    return b.tensors(lambda: function(**values))


RETURNED = "tensors, a callable, (callable, inputs), (callable, dataset) or a Keras model"


def _is_step(tf: Any, value: Any) -> bool:
    return callable(value) and not is_data(tf, value) and not isinstance(value, tf.Variable)


def _described(returned: Any) -> str:
    if isinstance(returned, (tuple, list)):
        inner = ", ".join(type(each).__name__ for each in returned)
        return sanitize_line(f"a {type(returned).__name__} of {len(returned)} ({inner})", 200)
    return type(returned).__name__


def _inputs(step: Any, inputs: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the step's positional and keyword arguments from the values that follow the step in a returned
    tuple.

    A tuple as the only value holds all positional arguments. A final dict with the step's parameter names
    holds keyword arguments.
    """
    if len(inputs) == 1 and type(inputs[0]) in (tuple, list):
        return tuple(inputs[0]), {}
    *first, last = inputs
    if isinstance(last, dict) and _takes(step, last):
        inner = first[0] if len(first) == 1 and type(first[0]) in (tuple, list) else first
        return tuple(inner), dict(last)
    return tuple(inputs), {}


def _takes(step: Any, names: Mapping[Any, Any]) -> bool:
    try:
        accepts = signature(step, "return value").parameters.values()
    except InputError:
        return False
    known = {each.name for each in accepts if each.kind in (each.KEYWORD_ONLY, each.POSITIONAL_OR_KEYWORD)}
    return bool(names) and (known.issuperset(names) or any(each.kind is each.VAR_KEYWORD for each in accepts))


def _model_case(b: Build, model: Any) -> Case:
    batch = b.integer("batch") if "batch" in b.values else BATCH.default
    if not model.built or not model.inputs:
        raise InputError("Keras model", model.name, "a model with a known input shape: add a keras.Input")
    for each in model.inputs:
        if None in each.shape[1:]:
            raise InputError(
                f"Keras model {model.name}: input shape", tuple(each.shape), "all sizes except the batch"
            )
    specs, hints = inputs_of(b.tf, model)

    def call(*inputs: Any) -> Any:
        return model(packed(b.tf, model, inputs))

    return b.tensors(call, *Given(b.tf, specs, "", call, hints).arrays({BATCH.name: batch}))


FUNCTION = "a function that returns the model"


def _clone(b: Build, model: Any) -> Any:
    """Return a copy of the model or layer on the arm's device. A model that Keras cannot copy is used itself
    if its weights are already on that device, and created again otherwise. Raises InputError if it cannot be
    created again.
    """
    with b.tf.device(b.device):
        try:
            if _is_model(model):
                copy = b.tf.keras.models.clone_model(model)
            else:
                copy = type(model).from_config(model.get_config())
            return _filled(copy, model)
        except (ValueError, TypeError, NotImplementedError):
            places = {str(getattr(each.value, "device", "")) for each in model.weights}
            if all(place.endswith(b.device.removeprefix("/")) for place in places):
                return model
        try:
            return _filled(_created_again(model), model)
        except Exception:  # the model's own constructor or `build` runs here and may raise anything
            where = ", ".join(sorted(place.rpartition("/device:")[2] for place in places))
            words = f"its weights are on {where}, and Keras cannot copy it to {b.arm.device}: use {FUNCTION}"
            raise InputError(f"Keras model or layer {model.name}", model.name, FUNCTION, words) from None


def _created_again(model: Any) -> Any:
    """Create another object of the model's class. Raises TypeError if the object might differ, because Keras
    does not record the arguments of the model's constructor.
    """
    if inspect.signature(type(model)).parameters:
        raise TypeError
    copy = type(model)()
    plain = (str, int, float, bool, type(None))
    for name, value in vars(model).items():
        own = isinstance(value, plain) and name not in ("name", "built") and not name.startswith("_")
        if own and vars(copy).get(name) != value:
            raise TypeError
    return copy


def _filled(copy: Any, model: Any) -> Any:
    if model.built and not copy.built:
        copy.build_from_config(model.get_build_config())
    if model.weights:
        copy.set_weights(model.get_weights())
    return copy
