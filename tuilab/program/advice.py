"""Maps each finding to the advised change, and to what the change requires of the program. Pure functions."""

import ast
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath

from tuilab.analysis.words import listed
from tuilab.model.ops import ITERATORS, NOT_IN_XLA, PYTHON
from tuilab.program import source
from tuilab.program.case import Case
from tuilab.program.effects import Effect, effects, effects_of
from tuilab.program.sites import BUILDERS

Place = tuple[str, int]
STEPS_AT_ONCE = 32
"""Number of batches that one call should process if batches are small. A trial uses the same number."""
MOST_NAMED = 3
"""Maximum number of conditions that one piece of advice names."""


@dataclass(frozen=True)
class Unmet:
    """A condition that does not hold. first: what to change before following the advice.

    instead: `first` replaces the advice, because the advice would fail.
    """

    first: str
    instead: bool = False


Need = Callable[[Case, Place], list[Unmet]]


@dataclass(frozen=True)
class Advice:
    """What to change, the preset that demonstrates it, and the conditions."""

    change: str
    preset: str = ""
    needs: tuple[Need, ...] = ()


def advise(key: str, case: Case, at: Place) -> tuple[str, tuple[str, ...], str]:
    """Return the change for a finding at a line, what to change before it, and the preset that demonstrates
    it.

    Conditions that do not hold add a change before the advised one, or replace it.
    """
    advice = TABLE[key]
    unmet = [each for need in advice.needs for each in need(case, at)]
    if instead := tuple(each.first for each in unmet if each.instead)[:MOST_NAMED]:
        return "; ".join(instead), instead, ""
    first = tuple(each.first for each in unmet)[:MOST_NAMED]
    change = f"{advice.change}; but first: {'; '.join(first)}" if first else advice.change
    return change, first, advice.preset


def place(file: str, line: int) -> str:
    """Return ` (train.py:12)`; "" for an unknown place."""
    return f" ({PurePath(file).name}:{line})" if file and line else ""


# Conditions


def no_side_effects(case: Case, at: Place) -> list[Unmet]:
    """Find Python code in the step that a graph would run only once, when it is traced."""
    return _first(effects(case.sources, *at))


def none_in_train_step(case: Case, at: Place) -> list[Unmet]:
    """Find such code in the methods that Keras calls in a step."""
    return _first(effects_of(case.sources, ("train_step", "call", "compute_loss")))


def _first(found: tuple[Effect, ...]) -> list[Unmet]:
    return [Unmet(f"{each.first}{place(each.file, each.line)}") for each in found]


def xla_compiles(case: Case, at: Place) -> list[Unmet]:
    """Find ops of the step that XLA does not support and would reject with an error."""
    step, keras = case.of.step, case.of.kind == "keras"
    held = case.of.held.get(step, {}) if isinstance(step, int) else {}
    return [
        Unmet(
            f"take {_shown(op)}{place(*where)} out of the function: XLA cannot compile {op}, so the function"
            " cannot be fused",
            instead=True,
        )
        for op, where in held.items()
        if op in NOT_IN_XLA
        # Keras fetches the batch outside the function that jit_compile compiles
        and not (keras and op in ITERATORS)
    ]


def _shown(op: str) -> str:
    return "tf.numpy_function or tf.py_function" if op in PYTHON else f"the op {op}"


def one_shape(case: Case, at: Place) -> list[Unmet]:
    """Find arguments with more than one shape, because XLA compiles once for each."""
    step = case.of.step
    traces = case.of.traces.get(step, []) if isinstance(step, int) else []
    shapes = {
        repr([row[1] for row in described or () if row and row[0] == "tensor"]) for _, described in traces
    }
    if len(shapes) < 3:
        return []
    return [Unmet(f"pad its arguments to one shape: XLA compiles for each of {len(shapes)}")]


def no_callback_of_batches(case: Case, at: Place) -> list[Unmet]:
    """Find a callback that runs after each batch, because Keras would run it once for all steps of an
    execution.
    """
    for name in ("on_train_batch_end", "on_train_batch_begin", "on_batch_end", "on_batch_begin"):
        if (found := source.method(case.sources, name))[1]:
            return [
                Unmet(f"{name}{place(*found)} would be called once in 32 batches: move it to an epoch's end")
            ]
    return []


def nothing_random(case: Case, at: Place) -> list[Unmet]:
    """Find a random op in the stage, because a cache would repeat its first values."""
    stages = [s for d in case.of.datasets for s in d.stages if (s.file, s.line) == at]
    if any("Random" in op or "random" in op for stage in stages for op in stage.ops):
        return [Unmet("move its random ops behind the cache: otherwise it repeats the first random values")]
    if any(s.stage in ("Repeat", "RepeatForever") for d in case.of.datasets for s in _below(d.stages, at)):
        return [Unmet("move .repeat() behind the cache: otherwise the cache never completes")]
    return []


def _below(stages: tuple, at: Place) -> tuple:  # type: ignore[type-arg]
    """Return the stages that feed the stage at that line. A dataset lists its last stage first."""
    index = next((n for n, stage in enumerate(stages) if (stage.file, stage.line) == at), len(stages))
    return stages[index + 1 :]


def scaled_loss(case: Case, at: Place) -> list[Unmet]:
    """Find a custom training loop, because only Keras' `fit` scales the loss by itself."""
    if case.of.kind == "keras":
        return []
    return [
        Unmet("scale the loss (keras.mixed_precision.LossScaleOptimizer): otherwise small gradients become 0")
    ]


def no_range(case: Case, at: Place) -> list[Unmet]:
    """Find a Python number used in `range`, because a tensor needs tf.range instead."""
    tree = source.tree_of(case.sources.get(at[0], ""))
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.FunctionDef) and node.lineno == at[1]:
            names = {argument.arg for argument in node.args.args}
            for call in ast.walk(node):
                if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "range":
                    used = {n.id for a in call.args for n in ast.walk(a) if isinstance(n, ast.Name)}
                    if used & names:
                        here = place(at[0], call.lineno)
                        return [Unmet(f"range() of a tensor fails: count with tf.range{here}")]
    return []


def same_each_round(case: Case, at: Place) -> list[Unmet]:
    """Find a model whose sizes depend on the loop, because it differs in each iteration."""
    names, loop = source.loop_names(case.sources, *at), source.loop(case.sources, *at)
    lines = {at, *source.calls_in_loop(case.sources, at[0], loop, BUILDERS).values()}
    used = {name for line in lines for name in source.names_of_call(case.sources, *line)} & names
    if not used:
        return []
    return [
        Unmet(
            f"what is built depends on {listed(sorted(used))} of the loop: build each kind once, and"
            " keep the models of kinds that come again",
            instead=True,
        )
    ]


# The table

_MIXED = "call keras.mixed_precision.set_global_policy('mixed_float16')"
TABLE: dict[str, Advice] = {
    # Input
    "input-bound": Advice(
        "make the slowest stage cheaper, run it in parallel, or keep its results (.cache())",
        "slow-map",
        (nothing_random,),
    ),
    "input-bound, in parallel": Advice(  # Python in a map still needs the interpreter lock
        "make the slowest stage cheaper, or keep its results (.cache())",
        "slow-map",
        (nothing_random,),
    ),
    "input-bound, generator": Advice(
        "read with TensorFlow's own ops (TFRecord, .map) in place of the Python generator", "slow-map"
    ),
    "python-in-map": Advice(
        "write the mapped function with TensorFlow's ops, or prepare the data once", "python-in-map"
    ),
    "serial-map": Advice("give .map num_parallel_calls=tf.data.AUTOTUNE", "serial-augmentation"),
    "no-prefetch": Advice("end the pipeline with .prefetch(tf.data.AUTOTUNE)", "slow-map"),
    # Functions and traces
    "retraced": Advice("give the function arguments that do not change, or an input_signature"),
    "retraced, a Python number": Advice(
        "pass it as a tensor (tf.constant), or as a tf.Variable", needs=(no_range,)
    ),
    "retraced, a new shape": Advice(
        "pad or batch to one shape (drop_remainder=True), or give an input_signature with None"
    ),
    "retraced, a new object": Advice("make the object once and pass the same one"),
    "retraced, recreated": Advice("make the tf.function once, before the loop"),
    "xla-recompiles": Advice(
        "pad the arguments to one shape, or to a few lengths such as powers of two: XLA compiles for each"
    ),
    "rebuilt": Advice(
        "build and compile the model once, before the loop; to start each round from the same weights, keep"
        " weights = model.get_weights() and the optimizer's variables, and set them",
        needs=(same_each_round,),
    ),
    "rebuilt, a part": Advice("build it once, before the loop", needs=(same_each_round,)),
    "cudnn-off": Advice("leave the setting out: then Keras uses cuDNN's kernel on a GPU"),
    # Python between the steps, and Python in place of a step
    "eager-functions": Advice(
        "remove the call: it is for debugging", "tiny-ops", needs=(none_in_train_step,)
    ),
    "eager-step": Advice(
        "put the step into a function under @tf.function", "tiny-ops", needs=(no_side_effects,)
    ),
    "eager-step, of Keras": Advice("leave run_eagerly=True out", "tiny-ops", needs=(none_in_train_step,)),
    "eager-step, a model": Advice(
        "call it once for all rows, or from a function under @tf.function: model(x, training=False)"
    ),
    "eager-step, outside": Advice("move them into the tf.function", "tiny-ops", needs=(no_side_effects,)),
    "read-each-step": Advice("keep it as a tensor; read it every hundred steps, or at the epoch's end"),
    "numpy-fed": Advice("make a tf.data.Dataset of them once, with .prefetch(tf.data.AUTOTUNE)", "slow-map"),
    "between-steps": Advice(
        "do it less often, or in parallel with the training (a thread, an asynchronous checkpoint)"
    ),
    "saving": Advice("save once an epoch (save_freq='epoch'), or every thousand steps"),
    "slowing": Advice(
        "look for what grows with each step: a list of tensors that is never emptied, a new tf.function or"
        " variable, a history that is copied"
    ),
    "predict": Advice(
        "call predict() once for all rows, or the model itself under @tf.function: model(x, training=False)"
    ),
    "predict, fed back": Advice(
        "call the model itself under @tf.function, model(x, training=False): each call needs the"
        " previous answer, so they cannot become one predict(); keep the shape of x the same"
    ),
    "evaluate": Advice("call evaluate() once for all rows, or test_on_batch() for each"),
    "fit": Advice(
        "call train_on_batch(x, y), which makes no pipeline for each call, or gather the rows for one fit()"
    ),
    # Ops
    "float64": Advice(
        "use float32 where 7 digits suffice (dtype=tf.float32, .astype('float32'), keras.config.set_floatx)",
        "float64-matmul",
    ),
    "mixed-precision": Advice(_MIXED, "mixed-precision", needs=(scaled_loss,)),
    "launch-bound": Advice(
        "a larger batch, or jit_compile=True", "tiny-ops", needs=(xla_compiles, one_shape)
    ),
    "xla-off": Advice(
        "@tf.function(jit_compile=True) fuses them", "tiny-ops", needs=(xla_compiles, one_shape)
    ),
    "small-batches": Advice(
        f"start many steps at once with compile(…, steps_per_execution={STEPS_AT_ONCE}); "
        "a larger batch may gain even more",
        "tiny-ops",
        needs=(no_callback_of_batches,),
    ),
    "host-op": Advice(
        "replace it by ops that have a GPU kernel, or move it into the input pipeline", "host-op-in-chain"
    ),
    # Devices and settings
    "gpu-hidden": Advice("remove the call of tf.config.set_visible_devices"),
    "gpu-hidden, by a variable": Advice("remove the line, or name a GPU that exists"),
    "no-gpu": Advice("`tuilab doctor` names the cause"),
    "gpu-idle": Advice("see why each op is on the CPU (the table of ops)", "host-op-in-chain"),
    "gpu-unused": Advice("tf.distribute.MirroredStrategy() uses every GPU", "data-parallel"),
    "gpu-shared": Advice("run when it is free, or choose another with CUDA_VISIBLE_DEVICES", "contention"),
    "memory": Advice("a smaller batch, or mixed precision", "device-memory"),
    "numerics-check": Advice("remove the call once the fault is found"),
    "determinism": Advice("remove the call if results need not be bit-identical"),
}
