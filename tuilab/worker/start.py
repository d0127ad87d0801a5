"""Starts TensorFlow in the worker and reports progress."""

import gc
import os
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

from tuilab.model.events import Ready, Warming
from tuilab.model.sanitize import sanitize_line
from tuilab.worker.context import Context
from tuilab.worker.cuda_libraries import preload_cusolver
from tuilab.worker.gpus import Names, replace_process
from tuilab.worker.machine import describe
from tuilab.worker.temporary import keep_generated_code_apart

LOGICAL_CPUS = "TUILAB_LOGICAL_CPUS"
"""Environment variable for tests: the number of logical devices into which to split the host's CPU."""

REPORT_EVERY_S = 0.5
FIRST = [0.0] * 1_024
"""Input of the first op on a device. If a device has no free memory, TensorFlow retries forever for tensors
of 256 bytes or less, but for only ten seconds for larger tensors like this one.
"""


class _Ticker:
    def __init__(self, context: Context) -> None:
        self._context, self._begun, self._over = context, time.monotonic(), threading.Event()
        self.stage = "importing TensorFlow"
        self._say()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _say(self) -> None:
        self._context.send(Warming(stage=self.stage, elapsed_s=time.monotonic() - self._begun))

    def _run(self) -> None:
        while not self._over.wait(REPORT_EVERY_S):
            self._say()

    def stop(self) -> None:
        self._over.set()
        self._thread.join()


def start(context: Context, pending: Sequence[bytes] = ()) -> None:
    """Import TensorFlow, initialize its devices, run one op on each and send `Ready`.

    If a GPU cannot be opened, the process replaces itself with a process that skips this GPU. pending:
    requests for the replacement process.
    """
    ticker = _Ticker(context)
    # A forked worker inherits the imported TensorFlow, so it has no import time to report.
    forked = "tensorflow" in sys.modules
    begun = time.monotonic()
    preload_cusolver()
    tf = import_tensorflow()
    keep_generated_code_apart()
    imported = time.monotonic()
    ticker.stage = "starting devices"
    physical = tf.config.list_physical_devices("GPU")
    gpus = context.gpus = context.gpus.among(len(physical))
    names = Names(gpus.order)
    context.channel.outward, context.channel.inward = names.outward, names.inward
    try:
        _open(tf, [physical[number] for number in gpus.opened])
    except Exception as error:
        if not gpus.opened:
            raise
        listed = ", ".join(f"GPU:{number}" for number in gpus.opened)
        why = f"{listed} could not be opened: {sanitize_line(str(error), 400)}"
        replace_process(context.channel, (), (*gpus.failed, *gpus.opened), why, pending)
    context.tf = tf
    context.machine = describe(tf, gpus)
    ticker.stop()
    context.send(
        Ready(
            machine=context.machine,
            import_s=0.0 if forked else imported - begun,
            start_s=time.monotonic() - imported,
        )
    )


def _open(tf: Any, gpus: Sequence[Any]) -> None:
    logical = int(os.environ.get(LOGICAL_CPUS, "1"))
    if logical > 1:
        cpu = tf.config.list_physical_devices("CPU")[0]
        parts = [tf.config.LogicalDeviceConfiguration() for _ in range(logical)]
        tf.config.set_logical_device_configuration(cpu, parts)
    tf.config.set_visible_devices(gpus, "GPU")
    for gpu in gpus:
        # Let memory grow instead of reserving all of it, because other people share this GPU.
        tf.config.experimental.set_memory_growth(gpu, True)
    for device in tf.config.list_logical_devices():
        if device.device_type in ("CPU", "GPU"):
            with tf.device(device.name):
                tf.identity(tf.constant(FIRST))


def import_tensorflow() -> Any:
    """Import TensorFlow with garbage collection off, which saves a quarter of the time.

    Collections during the import free nothing. Afterwards the loaded objects are frozen, so later collections
    skip them; otherwise, each collection would take 0.1 s longer.
    """
    gc.disable()
    try:
        import tensorflow
    finally:
        gc.freeze()
        gc.enable()
    return tensorflow
