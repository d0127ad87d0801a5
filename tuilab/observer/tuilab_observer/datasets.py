"""Observes tf.data: the lines that create datasets, the datasets' stages, and waits for batches in Python."""

from __future__ import annotations

from .functions import MOST_CALLS
from .own import Own
from .places import site

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

    from .account import Account
    from .eager import Eager
    from .functions import Functions
    from .process import Process

MOST_DATASETS, MOST_STAGES, MOST_OPS, MOST_SHAPES = 10_000, 100, 60, 8


class Datasets:
    """Observes datasets.

    waits: start and duration in seconds of each wait for a batch since the last message.
    """

    def __init__(self, process: Process, functions: Functions, eager: Eager, account: Account) -> None:
        self.process, self.functions, self.eager, self.account = process, functions, eager, account
        self.waits: list[tuple[float, float]] = []
        self.batches, self.iterators = 0, 0
        self._sites: dict[int, tuple[str, int, str, str]] = {}
        self._between = Own.local()

    def waited(self, start: float) -> None:
        took = Own.now() - start
        self.batches += 1
        if self.batches == 1 and not self.functions.totals and not self.eager.tapes:
            self.process.stepping()
        if len(self.waits) < MOST_CALLS:
            self.waits.append((start, took))
        self.process.mark("batch")

    def made(self, dataset: Any, frame: FrameType) -> None:
        where = site(frame)
        if where is not None and len(self._sites) < MOST_DATASETS:
            self._sites[id(dataset)] = where

    def iterated(self, dataset: Any) -> None:
        """Report a dataset that the program iterates over: its stages, last first, and the line of the
        iteration.
        """
        self.iterators += 1
        at = site(Own.frame(1))
        if at is not None and len(self.account.iterating) < MOST_DATASETS:
            self.account.iterating.add(at[:2])
        stages: list[dict[str, Any]] = []
        todo = [dataset]
        while todo and len(stages) < MOST_STAGES:
            each = todo.pop(0)
            where = self._sites.get(id(each))
            kind = type(each).__name__.strip("_").replace("DatasetV2", "").replace("Dataset", "")
            stages.append(
                {
                    "stage": kind,
                    "file": where[0] if where else "",
                    "line": where[1] if where else 0,
                    "own": bool(where and not where[3]),
                    "function": _name(each),
                    "ops": _ops(each),
                    "size": _batch(each),
                }
            )
            todo += list(each._inputs())
        if stages != getattr(self._between, "stages", None):
            self._between.stages = stages
            spec = self.process.tf.nest.flatten(dataset.element_spec)
            shapes = [_sizes(each) for each in spec[:MOST_SHAPES]]
            file, line = at[:2] if at and not at[3] else ("", 0)
            self.process.channel.send("dataset", stages=stages, shapes=shapes, file=file, line=line)


def _sizes(spec: Any) -> list[int | None] | None:
    shape = getattr(spec, "shape", None)
    return None if shape is None or shape.rank is None else shape.as_list()


def _batch(dataset: Any) -> int | None:
    try:
        size = getattr(dataset, "_batch_size", None)
        return None if size is None else int(size)
    except Exception:
        return None


def _ops(dataset: Any) -> list[str]:
    found = getattr(dataset, "_map_func", None) or getattr(dataset, "_reduce_func", None)
    try:
        graph = found.function.graph if found is not None else None
        return sorted({op.type for op in graph.get_operations()})[:MOST_OPS] if graph is not None else []
    except Exception:
        return []


def _name(dataset: Any) -> str:
    python = getattr(getattr(dataset, "_map_func", None), "_func", None)
    return getattr(python, "__name__", "") if python is not None else ""
