"""Compares tuilab's figures for forty user functions with timing by hand. Most functions resemble public
code.

  python -m tests.benchmarks --only functions

Each round times a function with tuilab and by hand, as in `fidelity`. The timing by hand calls each function
as its author would, with the same arrays.
"""

import functools
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.benchmarks.budget import Row
from tests.benchmarks.fidelity import Found, Scenario, compare, in_mode, rows_of
from tuilab.model.arms import Mode
from tuilab.model.errors import InputError
from tuilab.model.scenario import Opening
from tuilab.model.shapes import checked, parse
from tuilab.worker.user import _module, load

FILE = Path(__file__).with_name("own_functions.py")


Call = Callable[..., Any]


@dataclass(frozen=True)
class Asked:
    """A function by name, with its input shapes and mode.

    refused: part of the message that rejects the function. call: takes the names that the file defines, and
    returns the function to call by hand; by default, the named function.
    """

    name: str
    shapes: tuple[str, ...] = ()
    mode: Mode = "graph"
    refused: str = ""
    call: Callable[[Mapping[str, Any]], Call] | None = None


CASES = (
    Asked("log_mel", ("audio=float32[batch=4,16000]",)),
    Asked("mfcc"),
    Asked("harmonics", ("amplitudes=float32[batch=4,4000,16]", "f0=float32[batch,4000]:80..400"), "xla"),
    Asked("spectral_loss", (), "xla"),
    Asked("giou_loss", (), "eager"),
    Asked("focal_loss", ("logits=float32[batch=32,1000]:-4..4", "targets=float32[batch,1000]")),
    Asked("patches", ("images=float32[batch=8,224,224,3]",)),
    Asked("augment", ("image=float32[batch=4,224,224,3]",)),
    Asked("ssim", ("img1=float32[batch=2,64,64,3]", "img2=float32[batch,64,64,3]")),
    Asked("suppress"),
    Asked(
        "mixup",
        ("images=float32[batch=8,64,64,3]", "labels=float32[batch,10]", "weight=float32[batch]"),
        "eager",
    ),
    Asked("attention", tuple(f"{n}=float32[batch=4,heads=4,length=64,32]" for n in "qkv")),
    Asked("masked_loss", ("real=int64[batch=16,32]", "pred=float32[batch,32,500]")),
    Asked("ragged_mean"),
    Asked("ctc", (), "eager"),
    Asked("feed_forward.forward"),
    Asked("feed_forward", ("x=float32[batch=8,length=32,128]",)),
    Asked("embedding"),
    Asked("heads", tuple(f"{n}=float32[batch=4,length=32,64]" for n in ("query", "value"))),
    Asked(
        "message_mean",
        ("nodes=float32[256,64]", "source=int32[edges=1024]:0..255", "target=int32[edges]:0..255"),
    ),
    Asked(
        "graph_attention",
        ("nodes=float32[256,32]", "source=int32[edges=1024]", "target=int32[edges]", "w=float32[32,16]"),
    ),
    Asked("sparse_convolution"),
    Asked(
        "elbo",
        (
            "x=float32[batch=64,784]",
            "logits=float32[batch,784]",
            "mean=float32[batch,20]",
            "logvar=float32[batch,20]",
        ),
    ),
    Asked("leapfrog", ("position=float32[chains=64,100]", "momentum=float32[chains,100]")),
    Asked("mixture"),
    Asked("power_iteration"),
    Asked("conjugate_gradients"),
    Asked("gaussian_process", ("x=float32[n=128,1]:0..10", "y=float32[n,1]")),
    Asked("kalman"),
    Asked("components"),
    Asked("returns", ("rewards=float32[steps=64,16]",)),
    Asked("ppo_loss", ("new=float32[batch=256]", "old=float32[batch]", "advantage=float32[batch]"), "eager"),
    Asked(
        "td_loss",
        (
            "state=float32[batch=64,8]",
            "action=int32[batch]:0..3",
            "reward=float32[batch]",
            "following=float32[batch,8]",
        ),
    ),
    Asked("advantages"),
    Asked("train_step", ("x=float32[batch=64,32]", "y=float32[batch,8]")),
    Asked("subclassed", ("x=float32[batch=64,32]",)),
    Asked("traced"),
    Asked(
        "Normalizer.apply",
        ("x=float32[batch=64,512]",),
        "xla",
        call=lambda names: names["Normalizer"]().apply,
    ),
    Asked(
        "joined",
        ("x=float32[64,64]", "y=float32[64,64]", "axis=1"),
        call=lambda names: lambda x, y: names["joined"](x, y, axis=1),
    ),
    Asked(
        "recurrent",
        ("x=float32[batch=32,64]", "state.0=float32[batch,64]", "state.1=float32[batch,128]"),
        call=lambda names: lambda x, h, c: names["recurrent"](x, (h, c)),
    ),
    Asked("Configured", refused="needs arguments"),
    Asked("unfinished", refused="no known shape"),
    Asked("names_only", refused="return value"),
)


def script(
    asked: Asked, names: Mapping[str, Any], arrays: list[Any]
) -> Callable[[Any, dict[str, Any]], Call]:
    """Return a function that makes one call by hand. If a user function returns a callable and its inputs,
    the user function runs only once, and the timed calls are calls of that callable.
    """

    def written(tf: Any, v: dict[str, Any]) -> Call:
        first, *path = asked.name.split(".")
        function = asked.call(names) if asked.call else functools.reduce(getattr, path, names[first])
        decorated = hasattr(function, "get_concrete_function")
        run = function if decorated and asked.mode == "graph" else in_mode(tf, function, asked.mode)
        given = [tf.constant(each) for each in arrays]
        if not asked.shapes and not decorated and not arrays_fit(function, given):
            step, *inputs = function()
            keywords = inputs.pop() if isinstance(inputs[-1], dict) else {}
            if len(inputs) == 1 and type(inputs[0]) is tuple:
                inputs = list(inputs[0])
            data = {k: v for k, v in keywords.items() if tf.is_tensor(v)}
            step = functools.partial(step, **{k: v for k, v in keywords.items() if k not in data})
            run = step if hasattr(step, "get_concrete_function") else in_mode(tf, step, asked.mode)
            return lambda: run(*inputs, **data)
        return lambda: run(*given)

    return written


def arrays_fit(function: Any, given: list[Any]) -> bool:
    """Return True if the function takes tensors: it is a layer or has a parameter without a default."""
    if hasattr(function, "get_config"):
        return True
    parameters = inspect.signature(function).parameters.values()
    return bool(given) and any(each.default is each.empty for each in parameters)


def found(tf: Any, cases: Sequence[Asked] = CASES) -> Iterator[Found]:
    """Measure, with tuilab and by hand, each function that tuilab can open; yield the results. Prints
    messages about the other functions to standard error.
    """
    for asked in cases:
        tf.keras.backend.clear_session()
        opening = Opening(inputs=checked([parse(each) for each in asked.shapes]))
        try:
            workload = load(f"{FILE}:{asked.name}", opening)
            arrays: list[Any] = []

            def kept(b: Any, build: Any = workload.build, into: list[Any] = arrays) -> Any:
                case = build(b)
                given = tf.nest.flatten(case.arguments, expand_composites=True)
                into[:] = [t.numpy() for t in given if tf.is_tensor(t)]
                return case

            names = vars(_module(FILE))
            scenario = Scenario(
                f"{asked.name}, {asked.mode}", "", "", asked.mode, script(asked, names, arrays)
            )
            one = compare(tf, scenario, replace(workload, build=kept))
        except InputError as error:
            print(f"{asked.name}: refused: {error}", file=sys.stderr, flush=True)
            if not asked.refused or asked.refused not in str(error):
                raise
            continue
        yield one


def measure() -> list[Row]:
    import tensorflow as tf

    return rows_of(found(tf))
