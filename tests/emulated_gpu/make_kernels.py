"""Writes kernels.txt, the list of the CUDA build's GPU kernels that the emulated device has.

python -m tests.emulated_gpu.make_kernels > tests/emulated_gpu/device/kernels.txt

Each line contains an op, the types of each type attribute (as numbers of `DataType` in types.proto), and the
arguments in host memory (`-` for none). Ops with resource or variant arguments and the ops in `NEVER` are
omitted: TensorFlow has its own kernels for them on every device, or none.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from typing import Any

from tests.emulated_gpu.build import wheel

NEVER = ("Iterator", "Dataset", "TensorList", "Collective", "Nccl", "Stack", "Stage", "Queue", "Xla", "PyFunc", "Cudnn",
         "CSR", "SparseMatrix", "Stateful", "Send", "Recv", "Switch", "Merge", "Enter", "Exit", "Scoped", "_CopyFrom")  # fmt: skip
RESOURCE, VARIANT = 20, 21

DUMP = """
import json, sys
import tensorflow
from tensorflow.core.framework import op_def_pb2
from tensorflow.python.client import pywrap_tf_session
from tensorflow.python.framework import kernels
ops = op_def_pb2.OpList()
ops.ParseFromString(pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList()))
rows = []
for op in ops.op:
    arguments = [*op.input_arg, *op.output_arg]
    plain = not any(a.is_ref or a.type in (20, 21) for a in arguments)
    for kernel in kernels.get_registered_kernels_for_op(op.name).kernel:
        if kernel.device_type == "GPU" and not kernel.label and plain:
            types = {c.name: sorted(c.allowed_values.list.type) for c in kernel.constraint}
            rows.append([op.name, types, sorted(kernel.host_memory_arg)])
json.dump(rows, sys.stdout)
"""


def dump(path: str) -> list[Any]:
    environment = {**os.environ, "PYTHONPATH": path, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run([sys.executable, "-c", DUMP], env=environment, capture_output=True, check=True)
    rows: list[Any] = json.loads(done.stdout)
    return rows


def table(cuda: Iterable[Any], cpu: Iterable[Any]) -> list[str]:
    known = {json.dumps(row) for row in cpu}
    lines = set()
    for op, types, host in cuda:
        foreign = any(word in op for word in NEVER) or {RESOURCE, VARIANT} & {
            t for ts in types.values() for t in ts
        }
        if foreign or not all(types.values()) or json.dumps([op, types, host]) in known:
            continue
        shown = " ".join(f"{name}={','.join(map(str, allowed))}" for name, allowed in types.items())
        lines.add(f"{op} | {shown or '-'} | {' '.join(host) or '-'}")
    return merged(sorted(lines))


def merged(lines: Iterable[str]) -> list[str]:
    """Merge lines that differ only in the types of the last attribute."""
    groups: dict[tuple[str, str, str], list[int]] = {}
    out = []
    for line in lines:
        op, types, host = line.split(" | ")
        # `allowed` contains the types of the last attribute
        name, _, allowed = types.rpartition("=")
        if not name:
            out.append(line)
        else:
            groups.setdefault((op, name, host), []).extend(map(int, allowed.split(",")))
    out += [
        f"{op} | {name}={','.join(map(str, sorted(set(ts))))} | {host}"
        for (op, name, host), ts in groups.items()
    ]
    return sorted(out)


if __name__ == "__main__":
    print("\n".join(table(dump(""), dump(str(wheel())))))
