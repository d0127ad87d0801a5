"""A person's own code as a workload: `path/to/file.py:name`.

The name stands for one of

- a Keras model, whose call on a random batch is measured;
- a function of the declared parameters. What it returns says what is measured: tensors, the function itself;
  a callable, that callable; a callable and its inputs, `(step, (x, y))`, the callable on these inputs, which
  live on the device or are copied there in each call; a Keras model, its call on a random batch;
- a `tuilab.workloads.base.Workload`, taken as it is.
"""

import hashlib
import importlib.util
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from tuilab.model.errors import InputError
from tuilab.model.events import Declared, Refused
from tuilab.model.files import open_regular
from tuilab.model.parameters import LogInteger, Value
from tuilab.model.requests import Declare, Request
from tuilab.model.sanitize import sanitize_line
from tuilab.model.workload import Declaration
from tuilab.worker.context import Context
from tuilab.worker.tracebacks import owns, told
from tuilab.workloads import declare as own
from tuilab.workloads.base import Build, Case, Workload

BATCH = LogInteger(name="batch", help="Examples in one call of the model.", default=32, low=1, high=4_096)
_loaded: dict[str, tuple[tuple[int, int], ModuleType]] = {}


def declare(context: Context, request: Request) -> None:
    """Answer a Declare request with the declaration; where the code raises, with its own traceback."""
    assert isinstance(request, Declare)
    try:
        declaration = load(request.file).declaration
    except InputError:
        raise
    except (Exception, SystemExit) as error:
        said = sanitize_line(f"{type(error).__name__}: {error}", 500)
        context.send(
            Refused(
                request=request.id, message=said, detail=told(error), where=sanitize_line(request.file, 300)
            )
        )
        return
    context.send(Declared(request=request.id, file=request.file, declaration=declaration))


def load(file: str) -> Workload:
    """The workload in `path/to/file.py:name`. Raises InputError, or whatever the file's own code raises."""
    path, colon, name = file.rpartition(":")
    if not colon or not name.isidentifier() or not path.endswith(".py"):
        raise InputError("file", sanitize_line(file, 300), "path/to/file.py:name")
    module = _module(Path(path).expanduser())
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
    return module


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
        title=sanitize_line(str(model.name), 100),
        summary=f"A Keras model with {model.count_params():,} weights, called on a random batch.",
        unit="call",
        parameters=(BATCH,),
        axis="batch",
    )


def _case(b: Build, function: Callable[..., Any]) -> Case:
    """What the function returns, at the arm's values and inside its device scope, says what is measured."""
    values: Mapping[str, Value] = dict(b.values)
    with b.tf.device(b.device):
        returned = function(**values)
    if _is_model(returned):
        return _model_case(b, returned)
    if isinstance(returned, tuple) and len(returned) == 2 and callable(returned[0]):
        step, inputs = returned
        inputs = inputs if isinstance(inputs, list | tuple) else (inputs,)
        return b.tensors(step, *(_array(each) for each in inputs))
    if callable(returned) and not hasattr(returned, "dtype"):
        return b.tensors(returned)
    if not any(hasattr(each, "dtype") for each in b.tf.nest.flatten(returned)):
        raise InputError(
            "return value",
            type(returned).__name__,
            "tensors, a callable, (callable, inputs) or a Keras model",
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
