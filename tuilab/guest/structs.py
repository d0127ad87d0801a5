"""The part of msgspec that tuilab's messages need, in pure Python: the same structs, the same JSON.

Replaces msgspec in a worker in the user's own Python if tuilab's compiled msgspec does not fit that Python.
Messages are few and sent between rounds, so speed does not matter.
"""

import ast
import base64
import json as _json
import math
import sys
import typing
from json.encoder import encode_basestring as _text

_NONE = type(None)


class MsgspecError(Exception):
    """Raised if a message is invalid."""


class DecodeError(MsgspecError):
    """Raised if a message is not valid JSON."""


class ValidationError(DecodeError):
    """Raised if a message does not match the expected type."""


class Meta:
    """The bounds of a number: `Annotated[int, Meta(ge=0)]`."""

    def __init__(self, *, ge=None, le=None):
        self.ge, self.le = ge, le


class Raw(bytes):
    """JSON that is decoded later or written unchanged."""


class Either(tuple):  # type: ignore[type-arg]
    """Stands for `A | B` of two structs in a Python without this operator for types. Works with
    `isinstance`.
    """

    def __or__(self, other):
        return Either((*self, *_alternatives(other)))

    def __ror__(self, other):
        return Either((*_alternatives(other), *self))


def _alternatives(kind):
    if isinstance(kind, Either):
        return tuple(kind)
    if typing.get_origin(kind) is typing.Union:
        return typing.get_args(kind)
    return (_NONE if kind is None else kind,)


class _Field:
    def __init__(self, name, default, default_factory):
        self.name, self.default, self.default_factory = name, default, default_factory


_REQUIRED = object()


def field(*, name=None, default=_REQUIRED, default_factory=None):
    return _Field(name, default, default_factory)


class _StructMeta(type):
    def __new__(
        mcs,
        name,
        bases,
        namespace,
        *,
        frozen=None,
        kw_only=False,
        tag=None,
        tag_field=None,
        forbid_unknown_fields=None,
        array_like=None,
        **ignored,
    ):
        own = [word for word, kind in _annotations(namespace).items() if not _is_class_variable(kind)]
        defaults = {word: namespace.pop(word) for word in own if word in namespace}
        described = {word: value for word, value in defaults.items() if isinstance(value, _Field)}
        for word, value in described.items():
            defaults[word] = value.default_factory() if value.default_factory else value.default
        defaults = {word: value for word, value in defaults.items() if value is not _REQUIRED}
        namespace["__slots__"] = tuple(own)
        cls = super().__new__(mcs, name, bases, namespace)
        parents = [base for base in bases if isinstance(base, _StructMeta)]
        options = dict(parents[0]._options) if parents else {}
        given = {
            "frozen": frozen,
            "tag": tag,
            "tag_field": tag_field,
            "forbid": forbid_unknown_fields,
            "array": array_like,
        }
        options.update({word: value for word, value in given.items() if value is not None})
        by_name = [word for parent in parents for word in parent._by_name if word not in own]
        by_place = [word for parent in parents for word in parent._by_place if word not in own]
        (by_name if kw_only else by_place).extend(own)
        cls._options, cls._by_name, cls._by_place = options, by_name, by_place
        cls._defaults = {
            word: value for parent in parents for word, value in parent._defaults.items() if word not in own
        }
        cls._defaults.update(defaults)
        cls._written = {
            word: name for parent in parents for word, name in parent._written.items() if word not in own
        }
        cls._written.update({word: value.name for word, value in described.items() if value.name})
        cls.__struct_fields__ = (*by_place, *by_name)
        cls._types = None
        return cls

    if sys.version_info < (3, 10):

        def __or__(cls, other):
            return Either((cls, *_alternatives(other)))

        def __ror__(cls, other):
            return Either((*_alternatives(other), cls))

    @property
    def _tag(cls):
        """Return the name of the tag field and its value; None if the struct has no tag."""
        tag, field = cls._options.get("tag"), cls._options.get("tag_field")
        if tag is None and field is None:
            return None
        return field or "type", cls.__name__ if tag in (None, True) else tag

    def _resolved(cls):
        if cls._types is None:
            types = {}
            for part in reversed(cls.__mro__):
                scope = vars(sys.modules.get(part.__module__, typing))
                types.update({k: _evaluated(v, scope) for k, v in _annotations(vars(part)).items()})
            cls._types = {word: types[word] for word in cls.__struct_fields__}
        return cls._types


def _annotations(namespace):
    found = namespace.get("__annotations__")
    if found is None and "__annotate_func__" in namespace:  # Python 3.14
        import annotationlib  # type: ignore[import-not-found]

        return annotationlib.call_annotate_function(
            namespace["__annotate_func__"], annotationlib.Format.FORWARDREF
        )
    return found or {}


def _is_class_variable(kind):
    return "ClassVar" in str(kind)[:20]


class _Unions(ast.NodeTransformer):
    def visit_BinOp(self, node):
        self.generic_visit(node)
        both = ast.Tuple(elts=[node.left, node.right], ctx=ast.Load())
        return ast.Subscript(value=ast.Name(id="_Union", ctx=ast.Load()), slice=both, ctx=ast.Load())


def _evaluated(kind, scope):
    if not isinstance(kind, str):
        return kind
    tree = _Unions().visit(ast.parse(kind, mode="eval"))
    code = compile(ast.fix_missing_locations(tree), "<annotation>", "eval")
    found = eval(code, {**scope, "_Union": _Either})
    return _evaluated(found, scope) if isinstance(found, str) else found


class _EitherOf:
    def __getitem__(self, kinds):
        return typing.Union[tuple(part for kind in kinds for part in _alternatives(kind))]


_Either = _EitherOf()


class Struct(metaclass=_StructMeta):
    def __init__(self, *args, **kwargs):
        cls = type(self)
        if len(args) > len(cls._by_place):
            raise TypeError(f"{cls.__name__}() takes {len(cls._by_place)} arguments, {len(args)} were given")
        given = dict(zip(cls._by_place, args))
        for word, value in kwargs.items():
            if word not in cls.__struct_fields__ or word in given:
                raise TypeError(f"{cls.__name__}() got {word!r} twice, or has no such field")
            given[word] = value
        for word in cls.__struct_fields__:
            if word in given:
                value = given[word]
            elif word in cls._defaults:
                value = cls._defaults[word]
                value = type(value)(value) if isinstance(value, (list, dict, set)) else value
            else:
                raise TypeError(f"{cls.__name__}() is missing {word!r}")
            object.__setattr__(self, word, value)
        after = getattr(self, "__post_init__", None)
        if after is not None:
            after()

    def __setattr__(self, word, value):
        if type(self)._options.get("frozen"):
            raise AttributeError(f"{type(self).__name__}.{word} cannot be changed")
        object.__setattr__(self, word, value)

    def _values(self):
        return tuple(getattr(self, word) for word in self.__struct_fields__)

    def __eq__(self, other):
        return type(self) is type(other) and self._values() == other._values()

    def __hash__(self):
        return hash((type(self), self._values()))

    def __repr__(self):
        shown = ", ".join(f"{word}={getattr(self, word)!r}" for word in self.__struct_fields__)
        return f"{type(self).__name__}({shown})"

    def __reduce__(self):
        return _rebuild, (type(self), dict(zip(self.__struct_fields__, self._values())))


def _rebuild(cls, fields):
    return cls(**fields)


# Encoding


def _write(value, out):
    if isinstance(value, Struct):
        cls = type(value)
        tag, names = cls._tag, [cls._written.get(word, word) for word in cls.__struct_fields__]
        if cls._options.get("array"):
            _sequence([*([tag[1]] if tag else ()), *value._values()], out)
        else:
            pairs = [tag] if tag else []
            _mapping([*pairs, *zip(names, value._values())], out)
    elif isinstance(value, str):
        out.append(_text(value))
    elif value is None:
        out.append("null")
    elif isinstance(value, bool):
        out.append("true" if value else "false")
    elif isinstance(value, int):
        out.append(int.__repr__(value))
    elif isinstance(value, float):
        out.append(float.__repr__(value) if math.isfinite(value) else "null")
    elif isinstance(value, Raw):
        out.append(value.decode())
    elif isinstance(value, (bytes, bytearray)):
        out.append(_text(base64.b64encode(value).decode()))
    elif isinstance(value, (list, tuple, set, frozenset)):
        _sequence(value, out)
    elif isinstance(value, dict):
        _mapping(value.items(), out)
    else:
        raise TypeError(f"Encoding objects of type {type(value).__name__} is unsupported")


def _sequence(values, out):
    begin = "["
    for value in values:
        out.append(begin)
        _write(value, out)
        begin = ","
    out.append("]" if begin == "," else "[]")


def _mapping(pairs, out):
    begin = "{"
    for key, value in pairs:
        out.append(begin)
        out.append(_text(key if isinstance(key, str) else str(key)))
        out.append(":")
        _write(value, out)
        begin = ","
    out.append("}" if begin == "," else "{}")


# Decoding


def _wrong(value, expected, path):
    kinds = {
        dict: "object",
        list: "array",
        str: "str",
        bool: "bool",
        int: "int",
        float: "float",
        _NONE: "null",
    }
    got = kinds.get(type(value), type(value).__name__)
    return ValidationError(f"Expected `{expected}`, got `{got}` - at `{path}`")


def _read(value, kind, path):
    if kind is typing.Any:
        return value
    if isinstance(kind, Either):
        return _read_one_of(value, kind, path)
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        return _bounded(_read(value, args[0], path), args[1:], path)
    if origin is typing.Literal:
        if value not in args:
            raise ValidationError(f"Invalid enum value {value!r} - at `{path}`")
        return value
    if origin is typing.Union or type(kind).__name__ == "UnionType":
        return _read_one_of(value, args, path)
    if isinstance(kind, _StructMeta):
        return _read_struct(value, kind, path)
    if origin in (list, tuple) or kind in (list, tuple):
        return _read_sequence(value, origin or kind, args, path)
    if origin is dict or kind is dict:
        if not isinstance(value, dict):
            raise _wrong(value, "object", path)
        key_kind, entry = args or (typing.Any, typing.Any)
        return {_key(k, key_kind, path): _read(v, entry, f"{path}[...]") for k, v in value.items()}
    return _read_plain(value, kind, path)


def _read_plain(value, kind, path):
    if kind is Raw:
        return Raw(_json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())
    if kind is bytes and isinstance(value, str):
        try:
            return base64.b64decode(value, validate=True)
        except ValueError:
            raise ValidationError(f"Invalid base64 encoded string - at `{path}`") from None
    if kind is float and type(value) is int:
        return float(value)
    if kind in (None, _NONE) and value is None:
        return None
    if isinstance(kind, type) and type(value) is kind:
        return value
    raise _wrong(value, getattr(kind, "__name__", str(kind)), path)


def _key(key, kind, path):
    try:
        return int(key) if kind is int else _read(key, kind, path)
    except ValueError:
        raise _wrong(key, "int", path) from None


def _bounded(value, extra, path):
    for meta in extra:
        if isinstance(meta, Meta) and (
            (meta.ge is not None and value < meta.ge) or (meta.le is not None and value > meta.le)
        ):
            raise ValidationError(f"Expected a number from {meta.ge} to {meta.le} - at `{path}`")
    return value


def _read_sequence(value, origin, args, path):
    if not isinstance(value, list):
        raise _wrong(value, "array", path)
    if origin is tuple and args and args[-1] is not Ellipsis:
        if len(args) != len(value):
            raise ValidationError(f"Expected `array` of length {len(args)} - at `{path}`")
        return tuple(_read(part, kind, f"{path}[...]") for part, kind in zip(value, args))
    kind = args[0] if args else typing.Any
    return origin(_read(part, kind, f"{path}[...]") for part in value)


def _read_struct(value, cls, path):
    tag, types = cls._tag, cls._resolved()
    if cls._options.get("array"):
        if not isinstance(value, list):
            raise _wrong(value, "array", path)
        rest = value[1:] if tag else value
        return cls(**{w: _read(v, types[w], f"{path}[...]") for w, v in zip(cls.__struct_fields__, rest)})
    if not isinstance(value, dict):
        raise _wrong(value, "object", path)
    if tag and value.get(tag[0], tag[1]) != tag[1]:
        raise ValidationError(f"Invalid value {value[tag[0]]!r} - at `{path}.{tag[0]}`")
    fields = {}
    words = {cls._written.get(word, word): word for word in types}
    for name, entry in value.items():
        word = words.get(name, "")
        if word:
            fields[word] = _read(entry, types[word], f"{path}.{word}")
        elif cls._options.get("forbid") and not (tag and name == tag[0]):
            raise ValidationError(f"Object contains unknown field `{name}` - at `{path}`")
    for name, word in words.items():
        if word not in fields and word not in cls._defaults:
            raise ValidationError(f"Object missing required field `{name}` - at `{path}`")
    return cls(**fields)


def _read_one_of(value, kinds, path):
    for kind in kinds:
        if isinstance(kind, _StructMeta) and isinstance(value, dict) and kind._tag:
            field, tag = kind._tag
            if value.get(field) == tag:
                return _read_struct(value, kind, path)
    last = None
    # Integers are valid floats, but True is not a number, so try exact types first.
    for kind in sorted(kinds, key=lambda kind: kind is float):
        try:
            if not (isinstance(kind, _StructMeta) and kind._tag):
                return _read(value, kind, path)
        except ValidationError as error:
            last = error
    raise last or ValidationError(f"Invalid value - at `{path}`")


class _Json:
    class Encoder:
        @staticmethod
        def encode(value):
            out = []
            _write(value, out)
            return "".join(out).encode("utf-8", "replace")

    class Decoder:
        def __init__(self, type=typing.Any):
            self._type = type

        def __class_getitem__(cls, kind):
            return cls

        def decode(self, line):
            return _Json.decode(line, type=self._type)

    @staticmethod
    def encode(value):
        return _Json.Encoder.encode(value)

    @staticmethod
    def decode(line, *, type=typing.Any):
        """Decode JSON. Raises DecodeError or ValidationError."""
        try:
            value = _json.loads(line if isinstance(line, str) else bytes(line).decode())
        except (ValueError, RecursionError) as error:
            raise DecodeError(f"JSON is malformed: {error}") from None
        return _read(value, type, "$")


class _Structs:
    @staticmethod
    def replace(struct, **changes):
        return type(struct)(**{**dict(zip(struct.__struct_fields__, struct._values())), **changes})

    @staticmethod
    def force_setattr(struct, word, value):
        object.__setattr__(struct, word, value)


json, structs = _Json, _Structs
