"""Hooks for tf.data."""

from __future__ import annotations

from .disguise import disguise, stand_in
from .own import Own
from .process import depth
from .state import state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

WAITING = -2
"""Value of `Functions.in_call` while the program waits for a batch."""


def see_waiting() -> None:
    """Time each wait for a batch by replacing the execution mode that TensorFlow sets around the wait.

    Adds no frame to tracebacks.
    """
    from tensorflow.python.data.ops import iterator_ops as module

    plain = module.context.execution_mode

    class Mode:
        def __init__(self, mode: Any) -> None:
            self.inner = plain(mode)

        def __enter__(self) -> Any:
            self.one, self.start = state.here(), Own.now()
            if self.one is not None:
                if self.one.functions.in_call is None:
                    self.one.functions.in_call = WAITING
                    self.timed = self.one.account.enter()
                else:
                    self.one = None
            return self.inner.__enter__()

        def __exit__(self, *how: Any) -> Any:
            told = self.inner.__exit__(*how)
            try:
                if self.one is not None:
                    self.one.functions.in_call = None
                    if self.timed:
                        self.one.account.leave()
                    self.one.datasets.waited(self.start)
            except Exception:
                pass
            return told

    module.context = stand_in(module.context, execution_mode=Mode)


def see_datasets() -> None:
    from tensorflow.python.data.ops import dataset_ops, iterator_ops

    plain = dataset_ops.DatasetV2.__init__

    def made(self: Any, variant_tensor: Any) -> None:
        plain(self, variant_tensor)
        try:
            one = state.here()
            if one is not None:
                one.datasets.made(self, Own.frame(1))
        except Exception as error:
            state.fault(error)

    dataset_ops.DatasetV2.__init__ = disguise(made, plain)
    plain_iterator = iterator_ops.OwnedIterator.__init__

    def iterated(self: Any, dataset: Any = None, components: Any = None, element_spec: Any = None) -> None:
        plain_iterator(self, dataset, components, element_spec)
        try:
            one = state.attend()
            if one is not None and dataset is not None and not depth.inside():
                one.datasets.iterated(dataset)
        except Exception as error:
            state.fault(error)

    iterator_ops.OwnedIterator.__init__ = disguise(iterated, plain_iterator)
