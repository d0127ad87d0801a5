"""Reports the program's TensorFlow settings and the devices that it sees."""

from __future__ import annotations

import sys

from .own import Own
from .places import is_own

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .process import Process

EVERY_S = 1.0
MOST_FILES = 200


class Facts:
    """Reports settings and devices.

    opened: True once the program has opened its devices. gpus: True if the program sees a GPU.
    """

    def __init__(self, process: Process) -> None:
        self.process = process
        self.opened, self.gpus = False, False
        self._at, self._sent, self._modules = 0.0, "", 0
        self._files: list[str] = []
        self._changed: dict[str, str | None] = {}

    def send(self, last: bool = False) -> None:
        if self.opened and not last and Own.now() - self._at < EVERY_S:
            return
        self._at = Own.now()
        found = self._look()
        text = repr(found)
        if text != self._sent:
            self._sent = text
            self.process.channel.send("facts", **found)

    def _look(self) -> dict[str, Any]:
        from tensorflow.python.eager import context
        from tensorflow.python.framework import config as framework

        tf = self.process.tf
        config = tf.config
        if not self.opened:  # TensorFlow reads these variables when it opens the devices
            self._changed = self.process.settings.changed()
        self.opened = bool(context._context is not None and context._context._initialized)
        found: dict[str, Any] = {"opened": self.opened, "changed": self._changed}
        if self.opened:
            found["physical"] = [
                [d.name, d.device_type, *_details(config, d)] for d in config.list_physical_devices()
            ]
            found["visible"] = [d.name for d in config.get_visible_devices()]
            found["memory"] = _memory(config, found["visible"])
            self.gpus = any(":GPU:" in name for name in found["visible"])
        found["sessions"] = context.default_execution_mode == context.GRAPH_MODE
        found["eager_functions"] = bool(config.functions_run_eagerly())
        found["determinism"] = bool(framework.is_op_determinism_enabled())
        found["numerics"] = _checks_numerics()
        keras = sys.modules.get("keras")
        if keras is not None and getattr(keras, "config", None) is not None:
            try:
                found["policy"] = keras.config.dtype_policy().name
            except Exception:
                pass
        if len(sys.modules) != self._modules:
            self._modules = len(sys.modules)
            files = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
            own = {f for f in files if isinstance(f, str) and f.endswith(".py") and is_own(f)}
            self._files = sorted(own)[:MOST_FILES]
        found["files"] = self._files
        return found


def _checks_numerics() -> bool:
    try:
        from tensorflow.python.debug.lib import check_numerics_callback as numerics

        found = numerics._state
        return getattr(found, "config", None) is not None or bool(
            getattr(found, "check_numerics_callback", None)
        )
    except Exception:
        return False


def _details(config: Any, device: Any) -> list[Any]:
    if device.device_type != "GPU":
        return ["", None]
    try:
        details = config.experimental.get_device_details(device)
        return [str(details.get("device_name", "")), list(details.get("compute_capability") or ()) or None]
    except Exception:
        return ["", None]


def _memory(config: Any, visible: list[str]) -> dict[str, list[int]]:
    """Return each GPU's current and peak memory in units of 16 MiB, so that small changes trigger no
    report.
    """
    found = {}
    for name in visible:
        if ":GPU:" in name:
            try:
                info = config.experimental.get_memory_info(name.replace("/physical_device:", ""))
                found[name] = [info["current"] >> 24, info["peak"] >> 24]
            except Exception:
                pass
    return found
