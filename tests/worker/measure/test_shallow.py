"""Timed calls run in a thread with a short Python stack, in the caller's device scope."""

import threading
import traceback
from typing import Any

import pytest

from tuilab.worker.measure.shallow import shallow
from tuilab.worker.measure.stopwatch import Stopwatch
from tuilab.workloads.base import Case


def deep(levels: int, run: Any) -> Any:
    return deep(levels - 1, run) if levels else run()


def test_a_timed_call_has_a_short_stack_at_any_depth_of_the_caller() -> None:
    depths: list[int] = []
    case = Case(call=lambda: depths.append(len(traceback.extract_stack())))
    watch = Stopwatch(lambda: None)
    watch.block(case, 1)
    deep(100, lambda: watch.block(case, 1))
    assert depths[0] == depths[1] < 10


def test_results_and_exceptions_come_from_the_thread_and_calls_may_be_nested() -> None:
    here = threading.get_ident()
    assert shallow(threading.get_ident) == shallow(lambda: shallow(threading.get_ident)) != here
    with pytest.raises(SystemExit, match="7"):
        shallow(lambda: exec("raise SystemExit(7)"))
    assert shallow(lambda: 3) == 3


def test_the_thread_has_the_device_scope_and_the_keras_settings_of_its_caller(tf: Any) -> None:
    import keras

    policy = keras.config.dtype_policy()
    try:
        keras.config.set_dtype_policy("mixed_float16")
        with tf.device("/CPU:0"):
            inside = shallow(lambda: (tf.constant(1.0).device, keras.config.dtype_policy().name))
    finally:
        keras.config.set_dtype_policy(policy)
    assert inside[0].endswith("CPU:0") and inside[1] == "mixed_float16"
    assert shallow(lambda: keras.config.dtype_policy().name) == policy.name
