"""Times calls that do nothing, to measure how long TensorFlow takes to start a call."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import cycle
from typing import Any

from tuilab.model.arms import MODES, Mode
from tuilab.model.roofline import DeviceRoofs
from tuilab.worker.build import empty_call
from tuilab.worker.measure.shallow import shallow
from tuilab.worker.measure.stopwatch import Stopwatch
from tuilab.workloads.parts.device import move_to

CALLS = 5
"""Number of calls in each block between two rounds."""


class Starts:
    """The shortest times to start a call on a device, by mode.

    They are measured between the run's rounds, because the same host may need 147 µs in one minute and 110 µs
    in the next.
    """

    def __init__(self, tf: Any, device: str, modes: Sequence[Mode] = MODES) -> None:
        self._tf, self._device, self._modes = tf, device, modes
        self._next = cycle(modes)
        self._calls: dict[Mode, list[tuple[Callable[[], Any], Callable[[], Any]]]] = {}
        self.launch_s: dict[str, float] = {}
        self.copied_s: dict[str, float] = {}

    def after_round(self, stopwatch: Stopwatch) -> None:
        for _ in range(1 if self._calls else len(self._modes)):
            self.sample(next(self._next), stopwatch, CALLS)

    def sample(self, mode: Mode, stopwatch: Stopwatch, calls: int, blocks: int = 1) -> None:
        if mode not in self._calls:
            self._calls[mode] = self._built(mode)
        shallow(lambda: self._sample(mode, stopwatch, calls, blocks))

    def _sample(self, mode: Mode, stopwatch: Stopwatch, calls: int, blocks: int) -> None:
        with self._tf.device(f"/{self._device}"):
            for pair in self._calls[mode]:
                for known, call in zip((self.launch_s, self.copied_s), pair, strict=True):
                    call()
                    taken = min(stopwatch.time(call, calls) / calls for _ in range(blocks))
                    known[mode] = min(taken, known.get(mode, taken))

    def _built(self, mode: Mode) -> list[tuple[Callable[[], Any], Callable[[], Any]]]:
        tf = self._tf
        with tf.device(f"/{self._device}"):
            x = tf.identity(tf.zeros(()))
        try:
            calls = [empty_call(tf, mode, x), empty_call(tf, mode)]
            with tf.device(f"/{self._device}"):
                for call in calls:
                    call()
        except Exception:
            return []  # XLA does not support this device
        return [(call, partial(self._copied, call, x)) for call in calls]

    def _copied(self, call: Callable[[], Any], x: Any) -> Any:
        """Run the empty call with the copies that an arm with copied inputs makes (`worker.build`)."""
        move_to(self._tf, x, f"/{self._device}")
        return self._tf.nest.map_structure(lambda value: value.numpy(), call())

    @property
    def found(self) -> DeviceRoofs:
        return DeviceRoofs(launch_s=dict(self.launch_s), copied_s=dict(self.copied_s))
