"""Measures how much memory arms really take. Run as a program, this file prints the declared and the
measured bytes of each case.
"""

import gc
import json
import sys
import threading

import psutil
import tensorflow as tf

from tuilab.model.arms import Arm
from tuilab.model.parameters import check_values
from tuilab.worker.build import ArmBuild
from tuilab.worker.context import Context
from tuilab.workloads import find


class Nobody:
    def send(self, *events):
        pass


def peak(name, variant, mode, given):
    """Return the declared bytes, and the peak of resident bytes while the arm is built and called twice."""
    workload = find(name)
    declaration = workload.declaration
    values = check_values(declaration.parameters, declaration.constraints, given)
    context = Context(Nobody())
    context.tf = tf
    dtype = str(values[declaration.dtype]) if declaration.dtype else ""
    process, top, over = psutil.Process(), [0], threading.Event()

    def watch():
        while not over.wait(0.002):
            top[0] = max(top[0], process.memory_info().rss)

    watcher = threading.Thread(target=watch)
    watcher.start()
    case = workload.build(ArmBuild(context, "run", Arm("CPU:0", mode, "resident", dtype, variant), values))
    with case.scope():
        for _ in range(2):
            case.call()
    over.set()
    watcher.join()
    case.close()
    del case
    gc.collect()
    return workload.memory(values), top[0]


if __name__ == "__main__":
    tf.linalg.matmul(tf.ones((64, 64)), tf.ones((64, 64)))
    start = psutil.Process().memory_info().rss
    # The cases are ordered by size, because the system may not get freed memory back.
    for case in json.loads(sys.argv[1]):
        declared, seen = peak(*case)
        print(json.dumps([declared, seen - start]), flush=True)
