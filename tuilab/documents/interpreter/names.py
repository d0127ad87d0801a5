"""Names of libraries, dtypes, devices and clocks, in the form that the interpreter uses."""

import builtins
import math
import re

from tuilab.documents.interpreter.values import NONE, Api, Known, OpaqueObject, Unknown, Value
from tuilab.model.shapes import ITEM_BYTES

BUILTINS = frozenset(n for n in dir(builtins) if not n.startswith("_")) | {"__import__"}

# Why each clock, by its canonical name, is unsuitable for timing devices; "" if it is suitable.
_WALL = "it reads the wall clock, which may be adjusted during the timing and is coarse on some systems"
CPU_TIME = "it counts this process's CPU time, which stops while the host waits for a device"
CLOCKS = {
    "time.time": _WALL,
    "time.time_ns": _WALL,
    "datetime.datetime.now": _WALL,
    "datetime.datetime.utcnow": _WALL,
    "datetime.datetime.today": _WALL,
    "tf.timestamp": _WALL,
    "time.process_time": CPU_TIME,
    "time.process_time_ns": CPU_TIME,
    "time.thread_time": "it counts one thread's CPU time, but TensorFlow computes on others",
    "time.clock": "it was removed in Python 3.8",
    "time.perf_counter": "",
    "time.perf_counter_ns": "",
    "time.monotonic": "",
    "time.monotonic_ns": "",
    "timeit.default_timer": "",
}

_ALIASES = {
    "half": "float16",
    "double": "float64",
    "single": "float32",
    "float": "float64",
    "int": "int64",
    "complex": "complex128",
    "bool_": "bool",
    "float_": "float64",
    "int_": "int64",
    "str": "string",
}
_DTYPES = {*ITEM_BYTES, "int4", "uint4", "string"}
_CONSTANTS: dict[str, Value] = {
    "np.newaxis": NONE,
    "tf.newaxis": NONE,
    "np.pi": Known(math.pi),
    "math.pi": Known(math.pi),
    "np.e": Known(math.e),
    "math.e": Known(math.e),
    "math.tau": Known(math.tau),
    "math.inf": Unknown("infinity", 0),
    "np.inf": Unknown("infinity", 0),
    "np.nan": Unknown("not a number", 0),
}
# Reasons why the value of a program's option is unknown.
COMMAND_LINE = "it comes from the command line"
ENVIRONMENT = "it comes from the environment"
_OUTSIDE = {
    "sys.argv": COMMAND_LINE,
    "os.environ": ENVIRONMENT,
    "tf.__version__": "it depends on the installed TensorFlow version",
    "np.__version__": "it depends on the installed NumPy version",
}
# The name recorded for calls of a loaded SavedModel, or of its functions.
SAVED = "a SavedModel"
# Methods of Keras models that train or predict, on a data set or on one batch.
TRAINS = ("fit", "evaluate", "predict", "fit_generator")
STEPS = ("train_on_batch", "test_on_batch", "predict_on_batch", "predict_step", "train_step")
# Methods and arguments that exist only in Keras models.
ONLY_KERAS = ("train_on_batch", "test_on_batch", "predict_on_batch")
ARGUMENTS_OF_KERAS = (
    "epochs", "batch_size", "validation_data", "validation_split", "steps_per_epoch", "callbacks", "verbose",
    "steps",
)  # fmt: skip
OLD_RATE = "tf.keras.optimizers.Optimizer.lr"
# Names of removed methods that no other library uses, so a call of such a method identifies the class of its
# object.
LEFT = {
    **dict.fromkeys(("experimental_run_v2", "experimental_make_numpy_dataset"), "tf.distribute.Strategy"),
    **dict.fromkeys(("make_one_shot_iterator", "make_initializable_iterator"), "tf.data.Dataset"),
    **dict.fromkeys(("fit_generator", "evaluate_generator", "predict_generator"), "tf.keras.Model"),
    "predict_classes": "tf.keras.Sequential",
}
_DEVICE = re.compile(r"(?:^|[/:])(?:device:|physical_device:)?(CPU|GPU|TPU):?(\d+|\*)?$", re.IGNORECASE)


# The prefix of Keras and TensorFlow inside TensorFlow's own package.
_PRIVATE = "tensorflow.python."


def canonical(module: str) -> str:
    """Return a module's canonical dotted name: `tensorflow.keras` → `tf.keras`."""
    root, _, rest = module.removeprefix(_PRIVATE).partition(".")
    if root == "tensorflow" and not rest.startswith(("python", "core", "compiler", "lite.python")):
        name = f"tf.{rest}" if rest else "tf"
    elif root == "keras" and not rest.startswith(("src", "api")):
        name = f"tf.keras.{rest}" if rest else "tf.keras"
    elif root == "numpy":
        name = f"np.{rest}" if rest else "np"
    else:
        name = module
    if name == "tf.compat.v2" or name.startswith("tf.compat.v2."):
        name = "tf" + name.removeprefix("tf.compat.v2")
    return name


def module(dotted: str, spelled: str) -> Api:
    keras = dotted.removeprefix(_PRIVATE).partition(".")[0] == "keras"
    return Api(canonical(dotted), spelled, dotted if keras else "")


def member(owner: Api, name: str, line: int, spelled: str = "") -> Value:
    dotted = f"{owner.name}.{name}"
    if dotted in _CONSTANTS:
        return _CONSTANTS[dotted]
    if dotted in _OUTSIDE:
        return Unknown(_OUTSIDE[dotted], line)
    real = f"{owner.real}.{name}" if owner.real else ""
    return Api(dotted, spelled or f"{owner.spelled or owner.name}.{name}", real)


# Marks a dtype that Keras 3 returns as text.
TEXT_DTYPE = "a dtype of Keras 3"


def dtype_of(value: Value | None) -> str | None:
    """Return the dtype that an argument names, such as `tf.float32`, `"float32"`, `np.double` or `float`."""
    word = ""
    if isinstance(value, Api):
        root, _, word = value.name.rpartition(".")
        if root not in ("tf", "np", "tf.dtypes", "builtins", "tf.experimental.numpy"):
            return None
    elif isinstance(value, Known) and isinstance(value.value, str):
        word = value.value
    elif isinstance(value, OpaqueObject) and value.kind == TEXT_DTYPE:
        word = value.data or ""
    word = _ALIASES.get(word, word)
    return word if word in _DTYPES else None


def item_bytes(dtype: str | None) -> int | None:
    return ITEM_BYTES.get(dtype or "")


def families(value: Value | None) -> tuple[str, ...]:
    """Return the device families that the argument of `tf.device` may name; `("?",)` if unknown."""
    if isinstance(value, Unknown) and value.options:
        found = [family for option in value.options for family in families(option)]
        return tuple(dict.fromkeys(found))
    if isinstance(value, Known) and isinstance(value.value, str):
        match = _DEVICE.search(value.value[-80:])
        return (match[1].upper(),) if match else ("?",)
    if value == NONE:
        return ()
    return ("?",)
