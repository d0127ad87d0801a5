"""`explain` predicts the real placement on the emulated GPU, which has the CUDA build's kernels."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytestmark = pytest.mark.real_worker
Environment = Callable[..., dict[str, str]]

NAMED = (
    *("ResourceScatterNdUpdate", "ResourceScatterNdAdd", "RaggedGather", "ResourceStridedSliceAssign"),
    *("HistogramFixedWidth", "ZerosLike", "OnesLike", "Qr", "ScatterNd", "MatMul", "AddV2", "Shape", "Cast"),
)
EVERY = 90
"""The quick suite tests every 90th op that can run alone, and all ops in `NAMED`."""

# Prints a line before each op and dtype, so that the test knows which op has crashed the process.
PROGRAM = """
import json, sys
import tensorflow as tf
from tuilab.worker.placement import registry
from tuilab.worker.placement.forced import forced
from tuilab.worker.placement.verdict import dtypes, verdict

def backing(kernels, types):
    "Where the results lie of an op with one input, run on the GPU; null where it does not run on ones."
    made = {a.attribute for a in kernels.outputs}
    if len(kernels.inputs) != 1 or kernels.inputs[0].many or made != {kernels.main}:
        return None
    try:
        with tf.device("/GPU:0"):
            given = tf.cast(tf.ones((2, 2)), tf.dtypes.as_dtype(types[kernels.inputs[0].attribute]))
            made = tf.nest.flatten(getattr(tf.raw_ops, kernels.op)(**{kernels.inputs[0].name: given}))
        return [[t.device[-5:], t.backing_device[-5:]] for t in made if isinstance(t, tf.Tensor)]
    except Exception:
        return None

given = json.load(sys.stdin)
if given["every"]:
    names = (op for op in registry.op_names() if not op.startswith("_"))
    alone = [op for op in names if not any(word in op for word in given["stateful"])]
    given["ops"] += alone[:: given["every"]]
    print(json.dumps({"ops": given["ops"]}), flush=True)

for op in given["ops"]:
    print(json.dumps([op]), flush=True)
    kernels = registry.known(op)
    for dtype in dtypes(kernels) or ([""] if not kernels.main else []):
        types = {kernels.main: dtype} if kernels.main else {}
        would = verdict(kernels, dtype)
        said = forced(tf, kernels, types)
        ran = backing(kernels, kernels.fitting(types)) if would.kernel else None
        row = [op, dtype, would.gpu, would.reason.code, would.reason.text, said, ran]
        print(json.dumps(row), flush=True)
"""
STATEFUL = ("Dataset", "Iterator", "Collective", "Nccl", "Send", "Recv", "TPU", "Xla", "Barrier", "Summary")
"""Parts of the names of ops that need resources that the test cannot create."""


def asked(environment: dict[str, str], every: int) -> Iterator[list[Any]]:
    """Yield a row for each op and dtype. Skips ops that crash the process because of bugs in TensorFlow."""
    ops: list[str] = list(NAMED)
    while ops:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, **environment, "TF_CPP_MIN_LOG_LEVEL": "3"},
            input=json.dumps({"ops": ops, "every": every, "stateful": STATEFUL}),
            capture_output=True,
            text=True,
            check=False,
        )
        if every:
            (told,) = (line for line in done.stdout.splitlines() if line.startswith("{"))
            ops, every = json.loads(told)["ops"], 0
        rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
        begun = [row[0] for row in rows if len(row) == 1]
        yield from (row for row in rows if len(row) > 1)
        if done.returncode == 0:
            return
        assert begun, done.stderr[-2000:]
        ops = ops[ops.index(begun[-1]) + 1 :]


def held(rows: list[list[Any]]) -> tuple[int, int]:
    """Compare each row with TensorFlow's placer.

    Returns the number of pairs of op and dtype that the placer has placed, and the number of pairs whose
    results were compared.
    """
    placed = looked = 0
    wrong = []
    for op, dtype, gpu, code, text, said, ran in rows:
        if said and "not in list of allowed values" not in said and code != "refused":
            placed += 1
            accepted = said.startswith("accepted")
            if accepted != (code in ("kernel", "host-memory", "resource")):
                wrong.append((op, dtype, text, said))
            if "device='" in said or "[Op:" in said or "{{node" in said:
                wrong.append((op, dtype, "a line of a log", said))
        if ran and all(device == "GPU:0" for device, _ in ran):
            looked += 1
            # TensorFlow reports a result in host memory as on the device, unless the result is int32.
            if gpu and not any(memory == "GPU:0" for _, memory in ran):
                wrong.append((op, dtype, text, ran))
    assert not wrong, f"{len(wrong)} of {placed} + {looked}: " + "\n".join(map(str, wrong[:40]))
    return placed, looked


def test_a_sample_is_placed_as_explained(emulated_gpu: Environment) -> None:
    placed, looked = held(list(asked(emulated_gpu(), EVERY)))
    assert placed > 80 and looked > 10


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_every_op_and_dtype_is_placed_as_explained(emulated_gpu: Environment) -> None:
    placed, looked = held(list(asked(emulated_gpu(), 1)))
    assert placed > 3_000 and looked > 300
