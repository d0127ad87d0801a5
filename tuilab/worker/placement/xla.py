"""What XLA made of a function: the operations of its compiled program."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tuilab.worker.placement.watch import FunctionCall

_ENTRY = re.compile(r"^ENTRY .*?\{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_LINE = re.compile(r"^\s+(?:ROOT )?%?(?P<name>[\w.\-]+) = (?P<type>\(.*?\)|\S+) (?P<op>[a-z][\w\-]*)\(")
_TARGET = re.compile(r'custom_call_target="([^"]*)"')
_FROM = re.compile(r'op_type="([^"]*)"(?: op_name="([^"]*)")?')
_NOT_WORK = frozenset(("parameter", "constant", "tuple", "get-tuple-element", "bitcast"))
_DTYPES = {
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
    "c64": "complex64",
    "c128": "complex128",
    "pred": "bool",
    **{f"s{n}": f"int{n}" for n in (4, 8, 16, 32, 64)},
    **{f"u{n}": f"uint{n}" for n in (4, 8, 16, 32, 64)},
}


@dataclass(frozen=True)
class HloOp:
    """One operation of the compiled program, with the TensorFlow op it came from where XLA kept that."""

    name: str
    op: str
    dtype: str
    came_from: str


def operations(hlo: str) -> Iterator[HloOp]:
    """The operations of the entry computation of an optimised HLO text; a fusion is one."""
    entry = _ENTRY.search(hlo)
    for line in entry[1].splitlines() if entry else ():
        match = _LINE.match(line)
        if match is None or match["op"] in _NOT_WORK:
            continue
        op, target, origin = match["op"], _TARGET.search(line), _FROM.search(line)
        yield HloOp(
            name=match["name"],
            op=f"{op} {target[1]}" if target else op,
            dtype=_DTYPES.get(match["type"].lstrip("(").partition("[")[0], ""),
            came_from=" ".join(f"{part}" for part in origin.groups() if part) if origin else "",
        )


def compiled(call: FunctionCall) -> tuple[HloOp, ...]:
    """The operations of a function that XLA compiled; () where it gives no program out.

    Compiles the function once more.
    """
    import tensorflow as tf
    from tensorflow.python.eager import context as eager

    ctx = eager.context()
    device = next((t.device for t in call.outputs or call.inputs if t.device), "CPU:0")
    captured = tuple(t for t in call.arguments if t.dtype == tf.resource)
    plain = tuple(t for t in call.arguments if t.dtype != tf.resource)
    try:
        text: Any = ctx.get_compiler_ir(
            device_name=f"/job:localhost/replica:0/task:0/device:{device}",
            platform_name=None,
            function_name=call.name,
            flat_args=list(plain),
            captured_inputs=list(captured),
            stage="optimized_hlo",
        )
    except (ValueError, TypeError, RuntimeError, tf.errors.OpError):
        return ()
    return tuple(operations(text.decode() if isinstance(text, bytes) else str(text)))
