"""An op's kernels and arguments as plain data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tuilab.model.ops import ALWAYS_ON_HOST

Types = Mapping[str, str]
"""A node's type attributes: `{"T": "float32"}`."""

INDEX_TYPES = frozenset({"int16", "int32", "int64"})

HOST = "CPU:0"


@dataclass(frozen=True)
class Kernel:
    """One registered kernel.

    device: `CPU`, `GPU`, or `DEFAULT`, which serves every device without a kernel of its own. types: the
    dtypes that each type attribute accepts; a missing attribute accepts any dtype. host: names of the
    arguments that must be in host memory.
    """

    device: str
    types: Mapping[str, frozenset[str]] = field(default_factory=dict)
    host: frozenset[str] = frozenset()
    priority: int = 0

    def takes(self, types: Types) -> bool:
        return all(types[name] in allowed for name, allowed in self.types.items() if name in types)


@dataclass(frozen=True)
class Argument:
    """An input or output of an op. Its type is fixed (`dtype`) or named by a type attribute (`attribute`).

    many: the attribute that holds the number of tensors; "" for a single tensor.
    """

    name: str
    dtype: str = ""
    attribute: str = ""
    many: str = ""


@dataclass(frozen=True)
class OpKernels:
    """An op in this build of TensorFlow. allowed: the dtypes that each type attribute may have; () for any
    dtype.
    """

    op: str
    inputs: tuple[Argument, ...] = ()
    outputs: tuple[Argument, ...] = ()
    allowed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    kernels: tuple[Kernel, ...] = ()

    @property
    def main(self) -> str:
        """The type attribute that users call the op's dtype; "" if it has none.

        This is the type of the data: an attribute shared by an input and an output, or else `dtype`, or else
        the attribute of the first typed input or output. An attribute limited to index types counts only if
        there is no other.
        """
        inputs = [a.attribute for a in self.inputs if a.attribute]
        outputs = [a.attribute for a in self.outputs if a.attribute]
        shared = [name for name in inputs if name in outputs]
        named = ["dtype"] if "dtype" in self.allowed else []
        every = [*shared, *named, *inputs, *outputs]
        return next((name for name in every if not self._indexes(name)), next(iter(every), ""))

    def bound(self, given: Sequence[str], made: Sequence[str]) -> dict[str, str]:
        """Return the type attributes of an eager op, derived from the dtypes of its inputs and outputs."""
        types: dict[str, str] = {}
        for arguments, dtypes in ((self.inputs, given), (self.outputs, made)):
            for index, dtype in enumerate(dtypes):
                argument = argument_at(arguments, index, len(dtypes))
                if argument is not None and arguments[argument].attribute:
                    types.setdefault(arguments[argument].attribute, dtype)
        return types

    def _indexes(self, attribute: str) -> bool:
        allowed = self.allowed.get(attribute)
        return bool(allowed) and INDEX_TYPES.issuperset(allowed or ())

    def fitting(self, types: Types) -> Types:
        """Return the types, with missing types filled in to match a kernel, preferably a GPU kernel.

        If no kernel matches, uses the first type that the definition allows.
        """
        ranked = sorted(self.kernels, key=lambda k: ("GPU", "DEFAULT", "CPU").index(k.device))
        kernel = next((k for k in ranked if k.takes(types)), Kernel("CPU"))
        filled = dict(types)
        for name, allowed in self.allowed.items():
            taken = kernel.types.get(name, frozenset(allowed))
            preferred = [each for each in allowed if each in taken] or sorted(taken)
            filled.setdefault(name, next(iter(preferred), "float32"))
        return filled

    def on_gpu(self, types: Types) -> Kernel | None:
        for device in ("GPU", "DEFAULT"):
            fitting = [k for k in self.kernels if k.device == device and k.takes(types)]
            if fitting:
                return max(fitting, key=lambda k: k.priority)
        return None

    def gpu_dtypes(self) -> tuple[str, ...]:
        """Return the dtypes of the main attribute that have a GPU kernel; ("any",) if all have one."""
        name = self.main
        kernels = [k for k in self.kernels if k.device in ("GPU", "DEFAULT")]
        if any(name not in k.types for k in kernels):
            return self.allowed.get(name) or ("any",)
        return tuple(sorted(set[str]().union(*(k.types[name] for k in kernels))))

    def host_arguments(self, kernel: Kernel, types: Types) -> tuple[str, ...]:
        """Return the arguments that are in host memory when `kernel` runs on a GPU, except resources."""
        return tuple(
            a.name
            for a in (*self.inputs, *self.outputs)
            if self.dtype(a, types) != "resource"
            and (a.name in kernel.host or self.dtype(a, types) in ALWAYS_ON_HOST)
        )

    def answers_on_host(self, kernel: Kernel, types: Types) -> bool:
        """Return True if all data results of `kernel` are in host memory, as for `ZerosLike` on int32.

        Outputs that are not of the data's type, such as the output of `Shape`, do not count.
        """
        host = set(self.host_arguments(kernel, types))
        data = {a.name for a in (*self.inputs, *self.outputs) if self.dtype(a, types) != "resource"}
        made = [a for a in self.outputs if a.name in data]
        of_data = any(a.attribute and a.attribute == self.main for a in made)
        return bool(data) and (host == data or (of_data and {a.name for a in made} <= host))

    @staticmethod
    def dtype(argument: Argument, types: Types) -> str:
        return argument.dtype or types.get(argument.attribute, "")


def argument_at(arguments: Sequence[Argument], index: int, total: int) -> int | None:
    """Return the position of the argument that contains tensor `index` out of `total`; None if there is none.

    At most one argument may stand for several tensors.
    """
    many = [i for i, argument in enumerate(arguments) if argument.many]
    extra = total - len(arguments)
    if not many:
        return index if index < len(arguments) else None
    first = many[0]
    if index < first:
        return index
    if index <= first + extra:
        return first
    return index - extra if index - extra < len(arguments) else None
