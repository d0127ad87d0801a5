"""Evaluates Keras calls: layers, models, policies and training."""

from tuilab.documents.interpreter.interpreter import Interpreter, Keywords, calls_of
from tuilab.documents.interpreter.library import Arguments, bind, handles, is_keras_3, record
from tuilab.documents.interpreter.names import STEPS, TRAINS
from tuilab.documents.interpreter.tensors import nested_shape
from tuilab.documents.interpreter.values import (
    NONE,
    Api,
    Instance,
    Known,
    Layer,
    Listing,
    Model,
    OpaqueObject,
    Tensor,
    Unknown,
    Value,
    shape_of,
)
from tuilab.documents.words import words

# Functions that return a model with weights.
LOADS = ("load_model", "clone_model", "model_from_json", "model_from_config")
POLICIES = (
    "tf.keras.mixed_precision.set_global_policy",
    "tf.keras.mixed_precision.set_dtype_policy",
    "tf.keras.config.set_dtype_policy",
    "tf.keras.mixed_precision.experimental.set_policy",
)


# Image data sets of Keras: the numbers of training and test images, and the shape of an image.
IMAGES: dict[str, tuple[int, int, tuple[int, ...]]] = {
    "mnist": (60_000, 10_000, (28, 28)),
    "fashion_mnist": (60_000, 10_000, (28, 28)),
    "cifar10": (50_000, 10_000, (32, 32, 3)),
    "cifar100": (50_000, 10_000, (32, 32, 3)),
}


def _data_set(train: int, test: int, image: tuple[int, ...]) -> Value:
    labels = () if len(image) == 2 else (1,)

    def part(count: int) -> Value:
        images = Tensor((count, *image), "uint8", "np")
        return Listing("tuple", [images, Tensor((count, *labels), "uint8", "np")])

    return Listing("tuple", [part(train), part(test)])


@handles("tf.keras.layers.")
def layer(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    return record(interpreter, "build", name, args, Layer(name.rpartition(".")[2], args.values, args.line))


@handles("tf.saved_model.load", "tensorflow_hub.load")
def saved(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    """Evaluate a call that loads a SavedModel, whose functions and signatures are already traced."""
    return record(interpreter, "build", name, args, OpaqueObject("saved", name))


@handles("tf.saved_model.loader.load")
def load_into_session(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    return record(interpreter, "build", name, args)


# Layers and models of other Keras libraries, and models from Hugging Face's library.
@handles("tensorflow_hub.KerasLayer", *(f"{x}.layers." for x in ("keras_cv", "keras_nlp", "keras_hub")))
def further_layer(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    return layer(interpreter, f"tf.keras.layers.{name.rpartition('.')[2]}", args)


@handles("transformers.", *(f"{library}.models." for library in ("keras_cv", "keras_nlp", "keras_hub")))
def further_model(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    """Create or load a model of another library. In Hugging Face's library, only classes whose name starts
    with TF use TensorFlow.
    """
    parts = name.split(".")
    makes = parts[-1] in ("from_pretrained", "from_preset", "from_config") or parts[-1][:1].isupper()
    ours = parts[0] != "transformers" or any(part.startswith("TF") for part in parts)
    if not makes or not ours:
        return record(interpreter, "opaque", name, args)
    return record(interpreter, "build", name, args, OpaqueObject("saved", name))


@handles("tf.keras.Sequential", "tf.keras.models.Sequential")
def sequential(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    layers = args.get("layers", "0")
    made = Model([], args.line)
    if isinstance(layers, Listing):
        made.layers, made.open = list(layers.items), layers.open
    elif layers != NONE:
        made.open = True
    return record(interpreter, "build", "tf.keras.Sequential", args, made)


@handles("tf.keras.Model", "tf.keras.models.Model")
def functional(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    """Create a model from inputs and outputs. The model gets all layers that were created since the last
    input.
    """
    made = Model([], args.line)
    for event in reversed(interpreter.trace.events):
        if event.name == "tf.keras.Input":
            break
        if event.kind == "build" and isinstance(event.result, Layer):
            made.layers.insert(0, event.result)
    return record(interpreter, "build", "tf.keras.Model", args, made)


@handles("tf.keras.Input", "tf.keras.layers.Input", "tf.keras.layers.InputLayer")
def symbolic(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    shape = args.get("shape", "input_shape")
    if name.endswith("InputLayer"):
        return layer(interpreter, name, args)
    interpreter.event("build", "tf.keras.Input", args.line, args.values)
    if name == "tf.keras.layers.Input":
        return Layer("Input", args.values, args.line)
    sides = shape_of(shape)
    return Tensor((None, *sides) if sides is not None else None, "float32", inside=True)


@handles(*POLICIES)
def policy(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    value = args.get("policy", "0")
    if isinstance(value, OpaqueObject) and value.kind == "policy":
        value = value.data
    interpreter.event("config", "tf.keras.mixed_precision.set_global_policy", args.line, {"policy": value})
    return NONE


@handles(
    "tf.keras.mixed_precision.Policy", "tf.keras.mixed_precision.experimental.Policy", "tf.keras.DTypePolicy"
)
def named_policy(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    return OpaqueObject("policy", args.get("name", "0"))


_STATE = words(
    "clear_session set_session get_session floatx set_floatx epsilon set_epsilon backend learning_phase"
    " set_learning_phase image_data_format set_image_data_format get_uid reset_uids name_scope set_value"
    " batch_set_value manual_variable_initialization is_keras_tensor"
)
_MADE = words(
    "variable constant zeros ones eye zeros_like ones_like arange random_normal random_uniform"
    " truncated_normal random_normal_variable random_uniform_variable placeholder full"
)


@handles("tf.keras.backend.", "tf.keras.ops.")
def backend(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    """Evaluate a function of the Keras backend, which may be a setting, a new tensor, a graph function, or an
    op.
    """
    word = name.rpartition(".")[2]
    if word in _STATE:
        return record(interpreter, "config", name, args)
    if word == "function":
        interpreter.event("build", name, args.line, args.values)
        return OpaqueObject("object", name)
    inside = interpreter.in_graph() is not None
    inside = inside or any(isinstance(v, Tensor) and v.inside for v in args.values.values())
    made = Tensor(None, None, inside=inside)
    if word in _MADE:
        shape = args.get("shape", "0") if word not in ("variable", "constant") else NONE
        made.shape = shape_of(shape) if shape != NONE else nested_shape(args.get("value", "0"))
    outside = not interpreter.in_graph() and inside
    interpreter.event(
        "build" if outside else "create" if word in _MADE else "op", name, args.line, args.values, made
    )
    return made


@handles("tf.keras.")
def other(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    if name.rpartition(".")[2] in LOADS:
        return record(interpreter, "build", name, args, Model([], args.line, open=True))
    event = interpreter.event("build", name, args.line, args.values)
    if name.startswith("tf.keras.optimizers.") and ".legacy" not in name and args.has("lr"):
        interpreter.misfit(
            "argument",
            args.line,
            f"{name} takes no argument lr",
            "Renamed to learning_rate.",
            at="lr",
            replace=("lr", "learning_rate"),
        )
    if name.endswith((".load_img", ".img_to_array", ".preprocess_input")):
        return _image(name, args)
    if name.startswith("tf.keras.applications.") and name.rpartition(".")[2][:1].isupper():
        return Model([], args.line, open=True)
    if name.endswith("load_data"):
        known = IMAGES.get(name.removesuffix(".load_data").rpartition(".")[2])
        if known is not None:
            return _data_set(*known)
        return Unknown("data downloaded at run time", args.line)
    event.result = OpaqueObject("object", name)
    return event.result


def _image(name: str, args: Arguments) -> Value:
    given = args.get("img", "x", "0")
    if isinstance(given, Tensor):
        return Tensor(given.shape, "float32", "np")
    size = shape_of(args.get("target_size"))
    read = name.endswith(".load_img") and size is not None and None not in size
    return Tensor((*(size or ()), 3) if read else None, "uint8", "np")


# Arguments of training methods for Python processes, which newer Keras versions no longer accept.
_OF_PROCESSES = ("workers", "use_multiprocessing", "max_queue_size")


def check_training(interpreter: Interpreter, name: str, args: Arguments) -> None:
    """Record a mistake if a training call passes an argument that Keras 3 has removed."""
    gone = next((argument for argument in _OF_PROCESSES if args.has(argument)), "")
    if gone and name in TRAINS and is_keras_3(interpreter):
        detail = f"{name}() in Keras {interpreter.api.keras} takes no argument {gone}"
        remedy = "Pass it to a keras.utils.PyDataset."
        interpreter.misfit("argument", args.line, detail, remedy, at=gone)


def method(
    interpreter: Interpreter,
    model: Model | Instance,
    name: str,
    args: list[Value],
    keywords: Keywords,
    line: int,
) -> Value:
    assumed = isinstance(model, Model) and model.assumed
    # An object that only has the name of a model may be something else, so its arguments are not checked.
    bound = bind(interpreter, "" if assumed else f"tf.keras.Model.{name}", args, keywords, line)
    if isinstance(model, Model) and not assumed:
        interpreter.use(Api(f"tf.keras.Sequential.{name}", f"Model.{name}"), line)
    elif assumed:
        check_training(interpreter, name, bound)
    bound.values["self"] = model
    if name in TRAINS or name in STEPS:
        event = interpreter.event("train", name, line, bound.values)
        if name != "fit":
            return Tensor(None, "float32", "np")
        tested = bound.open or event.validates
        return OpaqueObject("history", (model.metrics, tested) if isinstance(model, Model) else None)
    if name == "compile" and isinstance(model, Model):
        model.metrics = None if bound.open else _texts(bound.get("metrics", "2"))
    if name in ("call", "__call__") and isinstance(model, Model):
        return call_layer(interpreter, model, args, keywords, line)
    if name == "add" and isinstance(model, Model):
        if len(model.layers) < 1_000:
            model.layers.append(args[0] if args else Unknown("a layer", line))
        interpreter.event("build", "add", line)
        return NONE
    interpreter.event("build", name, line, bound.values)
    if name in ("call", "__call__"):
        return Tensor(None, None)
    if name == "load_weights" and is_keras_3(interpreter):
        return NONE
    return Unknown(f"the result of {name}()", line)


def _texts(value: Value) -> tuple[str, ...] | None:
    if value == NONE:
        return ()
    items = value.items if isinstance(value, Listing) and not value.open else [value]
    texts = tuple(v.value for v in items if isinstance(v, Known) and isinstance(v.value, str))
    return texts if len(texts) == len(items) else None


@calls_of(Layer, Model)
def call_layer(
    interpreter: Interpreter, target: Layer | Model, args: list[Value], keywords: Keywords, line: int
) -> Value:
    value = args[0] if args else NONE
    inside = (isinstance(value, Tensor) and value.inside) or (
        isinstance(value, Layer) and value.name == "Input"
    )
    result = Tensor(None, "float32", inside=inside)
    if inside and interpreter.in_graph() is None:
        # In the functional API, a call with a symbolic tensor builds a model and computes nothing.
        interpreter.event("build", "a layer's call", line)
        return result
    if isinstance(target, Layer):
        name = f"tf.keras.layers.{target.name}"
    else:
        name = "the model" if target.assumed else "tf.keras.Model"
    return interpreter.make("op", name, line, {"x": value, "self": target}, result)
