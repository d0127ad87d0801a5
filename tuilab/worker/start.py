"""Starting TensorFlow in the worker, saying what it does meanwhile."""

import gc
import os
import threading
import time
from typing import Any

from tuilab.model.events import Ready, Warming
from tuilab.worker.context import Context
from tuilab.worker.machine import describe

LOGICAL_CPUS = "TUILAB_LOGICAL_CPUS"
"""Environment variable for tests: split the host's CPU into so many logical devices."""

REPORT_EVERY_S = 0.5


class _Ticker:
    """Says every half second what the start is at."""

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


def start(context: Context) -> None:
    """Import TensorFlow, bring its devices up, run one op on each, and say `Ready`."""
    ticker = _Ticker(context)
    begun = time.monotonic()
    tf = _tensorflow()
    imported = time.monotonic()
    ticker.stage = "starting devices"
    logical = int(os.environ.get(LOGICAL_CPUS, "1"))
    if logical > 1:
        cpu = tf.config.list_physical_devices("CPU")[0]
        parts = [tf.config.LogicalDeviceConfiguration() for _ in range(logical)]
        tf.config.set_logical_device_configuration(cpu, parts)
    for gpu in tf.config.list_physical_devices("GPU"):
        # Grow instead of taking all of the memory: other people share this GPU.
        tf.config.experimental.set_memory_growth(gpu, True)
    for device in tf.config.list_logical_devices():
        if device.device_type in ("CPU", "GPU"):
            with tf.device(device.name):
                tf.identity(tf.zeros(()))
    context.tf = tf
    context.machine = describe(tf)
    ticker.stop()
    context.send(
        Ready(machine=context.machine, import_s=imported - begun, start_s=time.monotonic() - imported)
    )


def _tensorflow() -> Any:
    """The module, imported without collecting garbage, which takes a quarter of the time and finds none.

    What has been loaded lives for good: later collections do not look at it, 0.1 s each time otherwise.
    """
    gc.disable()
    try:
        import tensorflow
    finally:
        gc.freeze()
        gc.enable()
    return tensorflow
