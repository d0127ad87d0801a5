"""Measures how fast lines of text are parsed into numbers with string ops, which have only host kernels."""

from collections.abc import Mapping
from typing import Any

from tuilab.model.arms import Arm
from tuilab.model.parameters import Integer, LogInteger, Value
from tuilab.model.roofline import Work
from tuilab.model.workload import Declaration
from tuilab.workloads.base import Build, Case, Workload
from tuilab.workloads.parts import kernels

FIELD_BYTES = 8
STRING_OPS = ("StringSplitV2", "StringToNumber", "DecodeCSV", "ParseExampleV2")

DECLARATION = Declaration(
    name="parsing",
    title="Parsing text",
    summary="Lines of comma-separated numbers, split, converted to floats and summed.",
    unit="batch",
    parameters=(
        LogInteger(name="lines", help="Lines in a batch.", default=1_024, low=1, high=65_536),
        Integer(name="fields", help="Numbers per line.", default=8, low=1, high=64),
    ),
    modes=("eager", "graph"),
    inputs=("resident",),
    axis="lines",
)


def memory(values: Mapping[str, Value]) -> int:
    """Return peak bytes: the text, its parts as strings, and the numbers."""
    return int(values["lines"]) * int(values["fields"]) * (2 * FIELD_BYTES + 32 + 4)


def work(values: Mapping[str, Value], arm: Arm) -> Work:
    """Return the bytes of text that are read, and the additions. Parsing does not count as arithmetic."""
    count = int(values["lines"]) * int(values["fields"])
    return Work(flop=count, inputs=count * FIELD_BYTES, outputs=4 * int(values["lines"]), dtype="float32")


def build(b: Build) -> Case:
    import numpy as np

    tf, fields = b.tf, b.integer("fields")
    rng = np.random.default_rng(0)
    rows = rng.random((b.integer("lines"), fields))
    with tf.device(b.host):
        text = tf.constant([",".join(f"{value:.5f}" for value in row) for row in rows])

    def parsed(lines: Any) -> Any:
        numbers = tf.strings.to_number(tf.strings.split(lines, ",").flat_values)
        return tf.reduce_sum(tf.reshape(numbers, (-1, fields)), 1)

    for op in STRING_OPS:
        kernels.report(b, op, "string")
    function = b.compiled(parsed)
    return Case(
        call=lambda: function(text),
        scope=lambda: tf.device(b.device),
        compute=lambda: function(text),
        function=function,
        arguments=(text,),
    )


WORKLOAD = Workload(DECLARATION, build, memory, work)
