"""A person's own code as a workload: `path/to/file.py:name`.

The name stands for one of

- a Keras model, whose call on a random batch is measured;
- a function of the declared parameters. What it returns says what is measured: tensors, the function itself;
  a callable, that callable; a callable and its inputs, `(step, (x, y))`, the callable on these inputs, which
  live on the device or are copied there in each call; a callable and a `tf.data.Dataset`, the callable on
  each of its elements, drawn in the call; a Keras model, its call on a random batch;
- a `tuilab.workloads.base.Workload`, taken as it is.

A model file is opened by `worker.models`.
"""

import gc
import hashlib
import importlib.util
import os
import sys
import sysconfig
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from tuilab.model.errors import InputError
from tuilab.model.events import Declared, Refused
from tuilab.model.files import expanded, open_regular, read_regular
from tuilab.model.parameters import LogInteger, Value
from tuilab.model.requests import Declare, Request
from tuilab.model.sanitize import sanitize_line
from tuilab.model.scenario import AS_IT_IS, Opening, Scenario
from tuilab.model.workload import Declaration
from tuilab.worker.context import Context, Tell
from tuilab.worker.tracebacks import PACKAGE, owns, text_of, told
from tuilab.workloads import declare as own
from tuilab.workloads.base import Build, Case, Mark, Workload
from tuilab.workloads.parts.drain import LEAST_CALLS, Drain, drawing

BATCH = LogInteger(name="batch", help="Examples in one call of the model.", default=32, low=1, high=4_096)
_imported: set[int] = set()
"""Iterators that a file makes while it is loaded, by their ids: every arm of it draws from them."""
_loaded: dict[str, tuple[tuple[int, int], ModuleType]] = {}


def declare(context: Context, request: Request) -> None:
    """Answer a Declare request with the declaration; where the code raises, with its own traceback."""
    assert isinstance(request, Declare)
    try:
        declaration = load(request.file, request.opening, context.telling(request.id)).declaration
    except InputError:
        raise
    except (Exception, SystemExit) as error:
        said = sanitize_line(f"{type(error).__name__}: {text_of(error)}", 500)
        context.send(
            Refused(
                request=request.id, message=said, detail=told(error), where=sanitize_line(request.file, 300)
            )
        )
        return
    context.send(Declared(request=request.id, file=request.file, declaration=declaration))


def load(file: str, opening: Opening = AS_IT_IS, tell: Tell | None = None) -> Workload:
    """Return the workload in `path/to/file.py:name`, or of a model file. tell: how far a model's loading is.

    Raises InputError, or whatever the file's own code raises.
    """
    path, colon, name = file.rpartition(":")
    if not path.endswith(".py") and not file.endswith(".py"):
        if opening.code:
            _module(expanded(opening.code))
        from tuilab.worker.models import open_model

        return open_model(file, opening, tell)
    if not colon or not name.isidentifier() or not path.endswith(".py"):
        raise InputError("file", sanitize_line(file, 300), "path/to/file.py:name")
    module = _module(expanded(path))
    if not hasattr(module, name):
        public = [n for n, v in vars(module).items() if _is_offered(v, module)]
        raise InputError(
            f"{sanitize_line(path, 300)}: name", name, "one that the file defines: " + ", ".join(public[:20])
        )
    target = getattr(module, name)
    if isinstance(target, Workload):
        return target
    if _is_model(target):
        return Workload(_model_declaration(target, name), lambda b: _model_case(b, _cloned(b, target)))
    if not callable(target):
        raise InputError(
            f"{sanitize_line(path, 300)}:{name}", type(target).__name__, "a function or a Keras model"
        )
    return Workload(own.declaration(target, name), lambda b: _case(b, target))


def _is_offered(value: Any, module: ModuleType) -> bool:
    """Whether a name of the file is one that can be measured: its own functions, and models."""
    if _is_model(value) or isinstance(value, Workload):
        return True
    return callable(value) and getattr(value, "__module__", "") == module.__name__


LARGEST = 8_000_000


def _module(path: Path) -> ModuleType:
    """The file as a module, run again where it has changed since."""
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
    """Return a hash of the file that own code or a model lies in, and of each of a person's own that was
    imported.

    By the files' names, below the folder of the first where they lie there; {} for a workload of the lab's.
    """
    if not scenario.file:
        return {}
    place, colon, _ = scenario.file.rpartition(":")
    named = [scenario.file if not colon or scenario.file.endswith(".py") else place, scenario.opening.code]
    first = expanded(named[0])
    first = first if first.exists() else expanded(scenario.file)
    files = [first, *(expanded(name) for name in named[1:] if name), *_imported_files()]
    found: dict[str, str] = {}
    for file in dict.fromkeys(path.resolve() for path in files):
        name = os.path.relpath(file, first.resolve().parent)
        found[sanitize_line(file.name if name.startswith("..") else name, 200)] = _version(file)
    return found


def _imported_files() -> list[Path]:
    """The files of modules that are neither Python's, nor installed, nor the lab's."""
    paths = {*sysconfig.get_paths().values(), sys.prefix, sys.base_prefix, str(PACKAGE)}
    others = tuple(f"{path}{os.sep}" for path in paths)
    names = map(_file_of, list(sys.modules.values()))
    return [Path(name) for name in names if _is_source(name, others)]


def _file_of(module: object) -> str:
    """As it lies in the module: one that is imported when it is used would be by asking it, and may raise."""
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
    """A line that the file prints becomes a line of the log when it is printed, not when a buffer is full."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(line_buffering=True)


def _is_model(value: Any) -> bool:
    keras = sys.modules.get("keras")
    return keras is not None and isinstance(value, keras.Model)


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
    """What the function returns, at the arm's values and inside its device scope, says what is measured."""
    values: Mapping[str, Value] = dict(b.values)
    before = {id(each) for each in _iterators(b.tf)} - _imported
    with b.tf.device(b.device):
        returned = function(**values)
    case = _returned(b, function, values, returned)
    if case.datasets:
        return case
    own = [each for each in _iterators(b.tf) if id(each) not in before]
    return _drained(case, drawing(own)) if own else case


def _iterators(tf: Any) -> list[Any]:
    """Every iterator of tf.data that is alive."""
    gc.collect()
    return [each for each in gc.get_objects() if issubclass(type(each), tf.data.Iterator)]


def _drained(case: Case, draw: Callable[[], object]) -> Case:
    """The case with its pipelines drawn empty before a block and at rest after it, where they work ahead."""
    drain = Drain(draw)
    drain.pace()
    drain.empty()
    if drain.ready:
        drain.rest()
        inner = case.scope
        case.scope = lambda: drain.running(inner(), case.call)
        case.drained, case.least_calls = True, LEAST_CALLS
    return case


def _fed(b: Build, step: Callable[..., Any], dataset: Any) -> Case:
    """The step on each element of the dataset, which begins again at its end."""
    compiled, iterator = b.compiled(step), iter(dataset)

    def drawn() -> tuple[Any, ...]:
        nonlocal iterator
        try:
            element = next(iterator)
        except StopIteration:
            # Not `repeat`: TensorFlow would put a prefetch of its own behind it.
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
    return _drained(case, drawn)


def _returned(b: Build, function: Callable[..., Any], values: Mapping[str, Value], returned: Any) -> Case:
    if _is_model(returned):
        return _model_case(b, returned)
    if isinstance(returned, tuple) and len(returned) == 2 and callable(returned[0]):
        step, inputs = returned
        if isinstance(inputs, b.tf.data.Dataset):
            return _fed(b, step, inputs)
        inputs = inputs if isinstance(inputs, (list, tuple)) else (inputs,)
        return b.tensors(step, *(_array(each) for each in inputs))
    if callable(returned) and not hasattr(returned, "dtype"):
        return b.tensors(returned)
    if isinstance(returned, b.tf.data.Dataset):
        raise InputError(
            "return value", "a tf.data.Dataset", "(step, dataset): what is done with each element"
        )
    if not any(hasattr(each, "dtype") for each in b.tf.nest.flatten(returned)):
        raise InputError(
            "return value",
            type(returned).__name__,
            "tensors, a callable, (callable, inputs), (callable, dataset) or a Keras model",
        )
    return b.tensors(lambda: function(**values))


def _model_case(b: Build, model: Any) -> Case:
    """A call of the model on random inputs of the batch that the scenario names."""
    import numpy as np

    batch = b.integer("batch") if "batch" in b.values else BATCH.default
    if not model.built or not model.inputs:
        raise InputError("Keras model", model.name, "one that knows its input's shape: give it a keras.Input")
    rng, arrays = np.random.default_rng(0), []
    for each in model.inputs:
        if None in each.shape[1:]:
            raise InputError(
                f"Keras model {model.name}: input shape", tuple(each.shape), "sizes but the batch"
            )
        kind = b.tf.as_dtype(each.dtype).as_numpy_dtype
        arrays.append(rng.random((batch, *each.shape[1:]), dtype=np.float32).astype(kind))
    return b.tensors(lambda *inputs: model(inputs[0] if len(inputs) == 1 else list(inputs)), *arrays)


def _cloned(b: Build, model: Any) -> Any:
    """The model with its weights on the arm's device: those of the file's own lie where it was loaded."""
    with b.tf.device(b.device):
        try:
            copy = b.tf.keras.models.clone_model(model)
        except (ValueError, TypeError, NotImplementedError) as error:
            expected = f"a model that Keras can clone ({error}), or a function that returns the model"
            raise InputError("Keras model", model.name, expected) from None
        copy.set_weights(model.get_weights())
    return copy


def _array(value: Any) -> Any:
    import numpy as np

    return value.numpy() if hasattr(value, "numpy") else np.asarray(value)
