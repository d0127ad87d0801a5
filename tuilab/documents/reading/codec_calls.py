"""Compression, and other parts of Python's library that do something."""

from tuilab.documents.reading.library import Arguments, handles
from tuilab.documents.reading.reader import Reader
from tuilab.documents.reading.values import NONE, Bound, Function, Graph, Special, Tensor, Unknown, Value

_EFFECTS = ("random.", "logging.")


@handles("zlib.", "gzip.", "bz2.", "lzma.", "blosc.", "lz4.", "zstandard.", "snappy.")
def codec(reader: Reader, name: str, args: Arguments) -> Value:
    value = args.get("data", "0")
    reader.event("codec", name, args.line, args.values)
    # The bytes keep what they were made of, so that what is compressed can be told.
    return Special("bytes", value.data if isinstance(value, Special) and value.kind == "bytes" else value)


@handles("tf.io.compress", "tf.io.decompress", "tf.io.decode_compressed")
def tf_codec(reader: Reader, name: str, args: Arguments) -> Value:
    made = Tensor(None, "string", inside=reader.in_graph() is not None)
    reader.event("op", name, args.line, args.values, made)
    return made


@handles(
    "os.",
    "sys.",
    "warnings.",
    "logging.",
    "gc.",
    "pathlib.",
    "tempfile.",
    "argparse.",
    "typing.",
    "dataclasses.",
    "json.",
    "platform.",
    "random.",
    "collections.",
    "itertools.",
    "contextlib.",
    "functools.",
    "string.",
    "re.",
    "pprint.",
    "shutil.",
    "threading.",
    "multiprocessing.",
    "matplotlib.",
    "concurrent.",
    "enum.",
    "abc.",
    "unittest.",
    "psutil.",
    "pandas.",
)
def standard(reader: Reader, name: str, args: Arguments) -> Value:
    """Python's own library: nothing that a device would compute."""
    if name == "contextlib.suppress":
        return Special("raises", None)
    if name in ("itertools.repeat",):
        from tuilab.documents.reading.values import Many, integer

        return Many(args.get("0"), integer(args.get("1", "times")))
    if reader.in_graph() and name.startswith(_EFFECTS):
        reader.event("effect", f"{name}()", args.line)
    for value in args.values.values():
        # What a thread, a pool or a wrapper runs is not followed.
        if isinstance(value, Function | Graph | Bound):
            reader.event("opaque", name, args.line, args.values)
            break
    if name.startswith("argparse."):
        return Special("arguments", {})
    if name.startswith("random."):
        return Unknown("a random number", args.line)
    return Special("object", name) if name.rpartition(".")[2][:1].isupper() else Unknown(name, args.line)


@handles("tensorflow.python.")
def internal(reader: Reader, name: str, args: Arguments) -> Value:
    """TensorFlow's internals, which may be anything; their arguments keep their places."""
    word = name.rpartition(".")[2]
    if word == "async_wait":
        reader.sync("async_wait()", args.line, NONE)
        return NONE
    if word == "list_local_devices":
        reader.event("query", name, args.line)
        return Unknown("it depends on the host", args.line)
    reader.event("opaque", name, args.line, args.values)
    return Tensor(None, None)
