"""Keras: layers, models, policies, and the calls that train."""

from tuilab.documents.reading.library import Arguments, bind, handles
from tuilab.documents.reading.reader import Reader
from tuilab.documents.reading.values import (
    NONE,
    Instance,
    Layer,
    Listing,
    Model,
    Special,
    Tensor,
    Unknown,
    Value,
    shape_of,
)

TRAINS = ("fit", "evaluate", "predict", "fit_generator")
STEPS = ("train_on_batch", "test_on_batch", "predict_on_batch", "predict_step", "train_step")
POLICIES = (
    "tf.keras.mixed_precision.set_global_policy",
    "tf.keras.mixed_precision.set_dtype_policy",
    "tf.keras.config.set_dtype_policy",
    "tf.keras.mixed_precision.experimental.set_policy",
)


@handles("tf.keras.layers.")
def layer(reader: Reader, name: str, args: Arguments) -> Value:
    made = Layer(name.rpartition(".")[2], args.values, args.line)
    reader.event("build", name, args.line, args.values, made)
    return made


@handles("tf.keras.Sequential", "tf.keras.models.Sequential")
def sequential(reader: Reader, name: str, args: Arguments) -> Value:
    layers = args.get("layers", "0")
    made = Model([], args.line)
    if isinstance(layers, Listing):
        made.layers, made.open = list(layers.items), layers.open
    elif layers != NONE:
        made.open = True
    reader.event("build", "tf.keras.Sequential", args.line, args.values, made)
    return made


@handles("tf.keras.Model", "tf.keras.models.Model")
def functional(reader: Reader, name: str, args: Arguments) -> Value:
    """A model from inputs and outputs: the layers made since the last input are its own."""
    made = Model([], args.line)
    for event in reversed(reader.trace.events):
        if event.name == "tf.keras.Input":
            break
        if event.kind == "build" and isinstance(event.result, Layer):
            made.layers.insert(0, event.result)
    reader.event("build", "tf.keras.Model", args.line, args.values, made)
    return made


@handles("tf.keras.Input", "tf.keras.layers.Input", "tf.keras.layers.InputLayer")
def symbolic(reader: Reader, name: str, args: Arguments) -> Value:
    shape = args.get("shape", "input_shape")
    if name.endswith("InputLayer"):
        return layer(reader, name, args)
    reader.event("build", "tf.keras.Input", args.line, args.values)
    if name == "tf.keras.layers.Input":
        return Layer("Input", args.values, args.line)
    sides = shape_of(shape)
    return Tensor((None, *sides) if sides is not None else None, "float32", inside=True)


@handles(*POLICIES)
def policy(reader: Reader, name: str, args: Arguments) -> Value:
    value = args.get("policy", "0")
    if isinstance(value, Special) and value.kind == "policy":
        value = value.data
    reader.event("config", "tf.keras.mixed_precision.set_global_policy", args.line, {"policy": value})
    return NONE


@handles(
    "tf.keras.mixed_precision.Policy", "tf.keras.mixed_precision.experimental.Policy", "tf.keras.DTypePolicy"
)
def named_policy(reader: Reader, name: str, args: Arguments) -> Value:
    return Special("policy", args.get("name", "0"))


@handles("tf.keras.")
def other(reader: Reader, name: str, args: Arguments) -> Value:
    """Losses, optimisers, metrics, data sets: objects of the set-up."""
    reader.event("build", name, args.line, args.values)
    if name.startswith("tf.keras.applications.") and name.rpartition(".")[2][:1].isupper():
        return Model([], args.line, open=True)
    if name.endswith("load_data"):
        return Unknown("data that is downloaded when it runs", args.line)
    if name.startswith(("tf.keras.ops.", "tf.keras.backend.")):
        return Tensor(None, None, inside=reader.in_graph() is not None)
    return Special("object", name)


def method(
    reader: Reader,
    model: Model | Instance,
    name: str,
    args: list[Value],
    keywords: dict[str, Value],
    line: int,
) -> Value:
    """A method of a model: of the document's own class too, where it inherits it."""
    bound = bind(reader, f"tf.keras.Model.{name}", args, keywords, line)
    if isinstance(model, Model):
        reader.use(f"tf.keras.Sequential.{name}", line)
    bound.values["self"] = model
    if name in TRAINS or name in STEPS:
        reader.event("train", name, line, bound.values)
        return Special("history", None) if name == "fit" else Tensor(None, "float32", "np")
    if name == "add" and isinstance(model, Model):
        if len(model.layers) < 1_000:
            model.layers.append(args[0] if args else Unknown("a layer", line))
        reader.event("build", "add", line)
        return NONE
    if name == "compile" and isinstance(model, Model):
        model.compiled |= bound.values
    reader.event("build", name, line, bound.values)
    if name in ("call", "__call__"):
        return Tensor(None, None)
    return Unknown(f"what {name}() gives", line)


def call_layer(reader: Reader, target: Value, args: list[Value], line: int) -> Value:
    """A layer or a model applied to a tensor."""
    value = args[0] if args else NONE
    inside = isinstance(value, Tensor) and value.inside
    result = Tensor(None, "float32", inside=inside)
    if inside and reader.in_graph() is None:
        # A symbolic tensor of the functional API: the model is being built.
        reader.event("build", "a layer's call", line)
        return result
    name = f"tf.keras.layers.{target.name}" if isinstance(target, Layer) else "tf.keras.Model"
    reader.event("op", name, line, {"x": value, "self": target}, result)
    return result
