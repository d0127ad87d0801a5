"""Evaluates TensorFlow functions that do more than compute with tensors: devices, settings, graphs and
others.
"""

from tuilab.documents.interpreter import names
from tuilab.documents.interpreter.interpreter import Interpreter
from tuilab.documents.interpreter.library import Arguments, handles, record, short
from tuilab.documents.interpreter.names import COMMAND_LINE
from tuilab.documents.interpreter.trace import Kind, Traced
from tuilab.documents.interpreter.unread import computes
from tuilab.documents.interpreter.values import (
    NONE,
    Api,
    Bound,
    DeviceObject,
    Function,
    Graph,
    Instance,
    Known,
    Layer,
    Listing,
    Many,
    Model,
    OpaqueObject,
    Partial,
    Scoped,
    Tensor,
    Unknown,
    Value,
    text,
)
from tuilab.documents.words import words

# Namespaces whose functions describe or configure something but compute nothing.
_NO_WORK = words(
    "tf.train. tf.io.gfile. tf.errors. tf.distribute. tf.autograph. tf.types. tf.dtypes.",
    "tf.compat. tf.saved_model. tf.version. tf.lite. tf.tpu. tf.sysconfig. tf.estimator. tf.contrib. tf.app.",
    "tf.logging.",
)
_SETTINGS = ("tf.config.", "tf.profiler.", "tf.data.experimental.", "tf.executing_eagerly")
_ASKS = words(
    "list_physical_devices list_logical_devices get_visible_devices is_gpu_available gpu_device_name",
    "is_built_with_cuda is_built_with_gpu_support set_log_device_placement list_local_devices",
)
# Keys of the result of get_memory_info(), and functions that need a device name instead of a device object.
MEMORY_INFO = ("current", "peak")
_TAKES_NAME = ("get_memory_info", "reset_memory_stats", "get_memory_usage")
_TAKES_DEVICE = (
    "set_memory_growth",
    "get_memory_growth",
    "set_logical_device_configuration",
    "get_device_details",
)


@handles("tf.device", "tf.keras.device")
def device(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    given = args.get("device_name", "device_name_or_function", "0")
    _refuses_physical(interpreter, name, given, args.line)
    return Scoped(names.families(given), args.line)


def _refuses_physical(interpreter: Interpreter, name: str, given: Value, line: int) -> None:
    """Record a mistake if the argument is the name of a physical device, because TensorFlow accepts only
    logical devices here.
    """
    written = text(given)
    if written is not None and written.startswith("/physical_device:"):
        interpreter.misfit(
            "type",
            line,
            f"{name} is given the name of a physical device, {written!r}: this raises a ValueError",
            f"Use '{written.removeprefix('/physical_device:')}', or a name of list_logical_devices().",
        )


@handles("tf.function")
def function(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    """Evaluate `tf.function`: return a graph, or a decorator if the call passes no function."""
    given = args.get("jit_compile", "experimental_compile")
    jit = given.value if isinstance(given, Known) and isinstance(given.value, bool) else None
    if given != NONE and jit is None:
        interpreter.note(args.line, "it is unknown whether XLA compiles this function")
    target = args.get("func", "0")
    interpreter.event("config", name, args.line)
    if isinstance(target, Function | Bound | Partial | Graph | Api | Model | Layer | Instance):
        return Graph(target, jit, args.line)
    if target != NONE:
        # An unknown function becomes a graph with unknown content.
        return Graph(target, jit, args.line)
    return OpaqueObject("decorator", jit)


@handles(
    *words(
        "tf.autograph.to_graph tf.recompute_grad tf.custom_gradient tf.no_gradient tf.stop_gradient_fn",
    )
)
def passing(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    return args.get("f", "entity", "func", "0")


@handles(*_SETTINGS, "tf.test.")
def setting(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    word = name.rpartition(".")[2]
    if word == "sync_devices":
        interpreter.sync("tf.test.experimental.sync_devices()", args.line, NONE)
        return NONE
    if word in _ASKS:
        interpreter.event("query", name, args.line, args.values)
        return _devices(word, args)
    interpreter.event("config", name, args.line, args.values)
    _check_argument(interpreter, name, word, args)
    if word == "get_memory_info":
        return OpaqueObject("info", (name, MEMORY_INFO))
    return Unknown(f"the result of {name}", args.line)


def _devices(word: str, args: Arguments) -> Value:
    if word.startswith(("list_physical", "list_logical", "get_visible")):
        family = text(args.get("device_type", "0"))
        physical = not word.startswith("list_logical")
        return Many(DeviceObject(family.upper() if family else "?", physical), None)
    if word == "gpu_device_name":
        return Unknown("the name of a GPU", args.line, (Known("/device:GPU:0"), Known("")))
    return Unknown("it depends on the host", args.line)


def _check_argument(interpreter: Interpreter, name: str, word: str, args: Arguments) -> None:
    value = args.get("device", "dev", "0")
    device = value.element if isinstance(value, Many) else value
    if word in _TAKES_NAME and isinstance(device, DeviceObject):
        remedy = f"Pass the name, such as '{device.family if device.family != '?' else 'GPU'}:0'."
        detail = f"{name} takes a device's name but gets a device object"
        interpreter.misfit("type", args.line, detail, remedy)
    if word in _TAKES_NAME:
        _refuses_physical(interpreter, name, device, args.line)
    if word in _TAKES_DEVICE and isinstance(value, Known) and isinstance(value.value, str):
        detail = f"{name} takes a device object but gets the string {value.value!r}"
        remedy = "Pass one of tf.config.list_physical_devices('GPU')."
        interpreter.misfit("type", args.line, detail, remedy)


@handles("tf.py_function", "tf.numpy_function", "tf.py_func")
def python_function(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    """Evaluate a function such as `tf.py_function`, which runs Python code on the host even in a graph."""
    target, inputs = args.get("func", "0"), args.get("inp", "1")
    if target == NONE:
        return OpaqueObject("python-decorator", name)
    items = list(inputs.items) if isinstance(inputs, Listing) else []
    with interpreter.at(traced=None):
        start = len(interpreter.trace.events)
        interpreter.call(target, items, {}, args.line)
        for event in interpreter.trace.events[start:]:
            if event.kind == "op":
                event.kind = "host-op"
    inside = interpreter.in_graph() is not None
    dtype = args.get("Tout", "2")
    made = [Tensor(None, names.dtype_of(t), inside=inside) for t in parts_of(dtype)]
    result: Value = Listing("list", list(made)) if isinstance(dtype, Listing) else made[0]
    # The Python function has finished when the call returns, on any device.
    interpreter.event("op" if inside else "host-op", name, args.line, {}, made[0] if made else None)
    return result


def parts_of(value: Value) -> list[Value]:
    return list(value.items) if isinstance(value, Listing) else [value]


@handles(*words("tf.vectorized_map tf.while_loop tf.cond tf.scan tf.map_fn tf.foldl tf.foldr"))
def higher(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    """Interpret each function among the arguments once, with values that represent all later arguments of
    this function.
    """
    traced = Traced(name, args.line) if name == "tf.vectorized_map" else interpreter.place.traced
    over = args.get("elems", "1")
    inputs: list[Value] = []
    if isinstance(over, Tensor) and over.shape:
        inputs = [Tensor(over.shape[1:], over.dtype, inside=over.inside)]
    loop_vars = args.get("loop_vars")
    if isinstance(loop_vars, Listing):
        inputs = list(loop_vars.items)
    with interpreter.at(traced=traced):
        for value in args.values.values():
            if isinstance(value, Function | Graph | Bound | Partial):
                interpreter.call(value, inputs, {}, args.line)
    result = Tensor(None, None, inside=interpreter.in_graph() is not None)
    return interpreter.make("op", name, args.line, {}, result)


@handles("tf.strings.", "tf.string_join", "tf.string_split", "tf.as_string")
def texts(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    args.read(interpreter, f"{name}()")
    result = Tensor(None, "string", inside=interpreter.in_graph() is not None)
    return record(interpreter, "host-op", name, args, result)


@handles("tf.raw_ops.")
def raw(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    """Evaluate a raw op, which may compute, create a dataset, or change state."""
    interpreter.event("opaque", name, args.line, args.values)
    return Tensor(None, None, inside=interpreter.in_graph() is not None)


@handles(
    "tf.lite.Interpreter",
    "tf.contrib.lite.Interpreter",
    *(
        f"{module}.interpreter.Interpreter"
        for module in words("tflite_runtime ai_edge_litert tf.contrib.lite.python tensorflow.lite.python")
    ),
)
def lite(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    """Create a TFLite interpreter, which computes on the host during `invoke`."""
    return record(interpreter, "config", name, args, OpaqueObject("lite", {}))


@handles("tf.Session", "tf.InteractiveSession")
@handles("tf.train.MonitoredTrainingSession", "tf.train.MonitoredSession")
def session(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    """Create a TensorFlow 1 session. In eager mode, ops are deferred only inside the session's `with`
    block.
    """
    made = OpaqueObject("session", name)
    return interpreter.make("build", "tf.Session", args.line, {"config": args.get("config", "2")}, made)


@handles("tf.disable_eager_execution", "tf.disable_v2_behavior", "tf.placeholder")
def deferring(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    interpreter.deferred = interpreter.deferred or not interpreter.branches
    interpreter.event("config", name, args.line)
    return Tensor(None, None, inside=True) if name == "tf.placeholder" else NONE


@handles("tf.print", "tf.debugging.", "tf.summary.", "tf.get_static_value", "tf.keras.backend.get_value")
@handles("tf.keras.backend.eval", "tf.keras.backend.batch_get_value", "tf.io.write_file", "tf.Assert")
def reading(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    fetched = args.get("x", "0", "value")
    if name == "tf.print":
        interpreter.record_printed(list(args.values.values()), args.line)
    if interpreter.in_graph():
        interpreter.event("op", name, args.line, args.values)
    elif interpreter.deferred and name.startswith("tf.keras.backend.") and isinstance(fetched, Tensor):
        event = interpreter.event("graph", "sess.run", args.line, {"fetches": fetched})
        event.runs = fetched
        interpreter.sync(f"{name}()", args.line, Tensor(None, None, "np", made=event.index))
    else:
        args.read(interpreter, f"{name}()")
        interpreter.event("config", name, args.line, args.values)
    return Unknown(f"the result of {name}", args.line)


@handles("tf.app.run", "absl.app.run")
def application(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    given = args.get("main", "0")
    main = given if given != NONE else interpreter.module.find("main")
    if isinstance(main, Function):
        unknown: list[Value] = [Unknown(COMMAND_LINE, args.line)]
        interpreter.call(main, unknown[: len(main.node.args.args)], {}, args.line)
    return NONE


@handles("tf.import_graph_def")
def imported(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    asked = args.get("return_elements", "2")
    event = interpreter.event("node", name, args.line, args.values)
    if isinstance(asked, Listing) and not asked.open:
        return Listing("list", [Tensor(None, None, made=event.index) for _ in asked.items])
    return Unknown(f"the result of {name}", args.line)


@handles("tf.as_dtype")
def as_dtype(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    given = args.get("type_value", "0")
    dtype = names.dtype_of(given)
    return Api(f"tf.{dtype}") if isinstance(given, OpaqueObject) and dtype else given


@handles("tf.GradientTape", "tf.name_scope", "tf.init_scope", "tf.control_dependencies")
def context(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    return OpaqueObject("tape" if name == "tf.GradientTape" else "context", name)


@handles("tf.")
def anything(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    """Evaluate a call of any other TensorFlow name: a class creates an object, a function is an op."""
    word = short(name).rpartition(".")[2]
    if name.startswith("tf.contrib.") and computes(name):
        return record(interpreter, "opaque", name, args)
    if name.startswith(_NO_WORK) or word[:1].isupper():
        kind: Kind = "build" if name == "tf.saved_model.save" else "config"
        made = OpaqueObject("object", name) if word[:1].isupper() else None
        return record(interpreter, kind, name, args, made)
    if any(isinstance(value, Function | Graph | Instance | Partial) for value in args.values.values()):
        return record(interpreter, "opaque", name, args)
    tensors = [v for v in args.values.values() if isinstance(v, Tensor)]
    result = Tensor(None, tensors[0].dtype if tensors else None, inside=any(t.inside for t in tensors))
    return record(interpreter, "op", name, args, result)
