"""Counts, for each user line, the calls to a library's entry points and the examples passed to them."""

from __future__ import annotations

from .places import is_own

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

MOST_LINES = 2_000
COUNTED = {"fit": "Model.fit", "predict": "Model.predict", "evaluate": "Model.evaluate"}
ON_BATCH = frozenset(("train_on_batch", "test_on_batch", "predict_on_batch"))


class Calls:
    """Counts calls by file, line and entry point. rows: number of calls, and number of examples (0 if
    unknown).
    """

    def __init__(self) -> None:
        self.rows: dict[tuple[str, int, str], tuple[int, int]] = {}

    def add(self, frame: FrameType, call: str, samples: int = 0) -> None:
        key = frame.f_code.co_filename, frame.f_lineno, call
        n, before = self.rows.get(key, (0, 0))
        if n or len(self.rows) < MOST_LINES:
            self.rows[key] = n + 1, before + samples

    def keras(
        self, frame: FrameType, function: Any, arguments: tuple[Any, ...], named: dict[str, Any]
    ) -> None:
        name = getattr(function, "__name__", "")
        if name == "__call__":
            if hasattr(type(arguments[0]), "compile"):  # the object is a model, not a layer
                self.add(frame, "Model.__call__", samples_of(arguments[1:2], named, "inputs"))
        elif name in COUNTED:
            self.add(frame, COUNTED[name], samples_of(arguments[1:2], named, "x"))

    def function(self, frame: FrameType | None) -> None:
        method = ""
        for _ in range(8):
            if frame is None:
                return
            code = frame.f_code
            if is_own(code.co_filename):
                self.add(frame, "Model." + method if method else "Function.__call__")
                return
            if "/trainer" in code.co_filename or "/engine/training" in code.co_filename:
                method = code.co_name if code.co_name in ON_BATCH else method
                if code.co_name in COUNTED:
                    return
            frame = frame.f_back


def samples_of(given: tuple[Any, ...], named: dict[str, Any], name: str) -> int:
    data: Any = given[0] if given else named.get(name)
    while isinstance(data, (dict, list, tuple)) and data:
        data = next(iter(data.values())) if isinstance(data, dict) else data[0]
    shape = getattr(data, "shape", None)
    try:
        return int(shape[0]) if shape is not None and len(shape) else 0
    except Exception:
        return 0
