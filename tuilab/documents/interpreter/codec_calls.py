"""Evaluates calls of compression libraries, of the standard library, and of similar libraries."""

import posixpath

from tuilab.documents.interpreter.arithmetic import LONGEST_TEXT
from tuilab.documents.interpreter.interpreter import Interpreter
from tuilab.documents.interpreter.library import Arguments, handles
from tuilab.documents.interpreter.names import COMMAND_LINE
from tuilab.documents.interpreter.values import (
    NONE,
    Bound,
    Function,
    Graph,
    Known,
    Many,
    OpaqueObject,
    Tensor,
    Told,
    Unknown,
    Value,
    integer,
)
from tuilab.documents.words import words

_EFFECTS = ("random.", "logging.")
# Libraries that read the values of the tensors passed to them.
_READS = ("logging.", "matplotlib.", "pprint.", "json.", "pandas.", "warnings.", "collections.")
_TELLS = ("logging.", "sys.", "matplotlib.", "pprint.", "json.", "pandas.", "csv.", "absl.")
# Libraries whose calls a benchmark may time.
_WORKS = ("pandas.", "json.", "shutil.", "pickle.", "csv.", "subprocess.", "matplotlib.", "os.", "re.")


@handles("zlib.", "gzip.", "bz2.", "lzma.", "blosc.", "lz4.", "zstandard.", "snappy.")
def codec(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    value = args.get("data", "0")
    interpreter.event("codec", name, args.line, args.values)
    # The bytes keep a reference to their source, so that the size of the compressed data stays known.
    return OpaqueObject(
        "bytes", value.data if isinstance(value, OpaqueObject) and value.kind == "bytes" else value
    )


@handles("os.path.join", "posixpath.join")
def joined(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    """Join the parts of a path. The result is known only if all parts are known."""
    parts = list(args.values.values())
    interpreter.event("python", name, args.line)
    if args.open:
        return Unknown(name, args.line)
    known = [v.value for v in parts if isinstance(v, Known) and isinstance(v.value, str)]
    if parts and len(known) == len(parts):
        path = posixpath.join(*known)
        return Known(path) if len(path) <= LONGEST_TEXT else Unknown(name, args.line)
    return Told(name, args.line)


@handles(
    *words(
        "os. sys. warnings. logging. gc. pathlib. tempfile. argparse. typing. dataclasses. json. platform.",
        "random. collections. itertools. contextlib. functools. string. re. pprint. shutil. threading.",
        "multiprocessing. matplotlib. concurrent. enum. abc. unittest. psutil. pandas. pickle. csv.",
        "subprocess. absl.",
    )
)
def standard(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    """Evaluate a function that computes nothing on a device, from the standard library or a similar
    library.
    """
    if name == "contextlib.suppress":
        return OpaqueObject("raises", None)
    if name in ("itertools.repeat",):
        return Many(args.get("0"), integer(args.get("1", "times")))
    if interpreter.in_graph() and name.startswith(_EFFECTS):
        interpreter.event("effect", f"{name}()", args.line)
    for value in args.values.values():
        # Do not interpret functions that are passed to threads, pools or wrappers.
        if isinstance(value, Function | Graph | Bound) and not name.startswith("matplotlib."):
            interpreter.event("opaque", name, args.line, args.values)
            break
    if name.startswith(_TELLS):
        interpreter.record_printed(list(args.values.values()), args.line)
    if name.startswith(_READS):
        args.read(interpreter, f"{name}()")
    if name.startswith(_WORKS):
        interpreter.event("python", name, args.line)
    if name.startswith(("argparse.", "tf.flags.", "absl.flags.")):
        return Unknown(COMMAND_LINE, args.line)
    if name.startswith("random."):
        return Unknown("a random number", args.line)
    return OpaqueObject("object", name) if name.rpartition(".")[2][:1].isupper() else Unknown(name, args.line)


@handles("tensorflow.python.")
def internal(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    """Evaluate a call of a function that is internal to TensorFlow. Its effect and its parameter names are
    unknown.
    """
    word = name.rpartition(".")[2]
    if word == "async_wait":
        interpreter.sync("async_wait()", args.line, NONE)
        return NONE
    if word == "convert_variables_to_constants_v2":
        # The call returns the same function, with its variables frozen to constants.
        return args.get("func", "0")
    if word == "list_local_devices":
        interpreter.event("query", name, args.line)
        return Unknown("it depends on the host", args.line)
    interpreter.event("opaque", name, args.line, args.values)
    return Tensor(None, None)
