"""Maps each finding to its advised change and that change's preconditions. Pure functions."""

import ast
from collections.abc import Callable
from dataclasses import dataclass

from tuilab.analysis.words import listed
from tuilab.model.ops import ITERATORS, NOT_IN_XLA, PYTHON
from tuilab.model.scenario import STEPS_AT_ONCE
from tuilab.program import source
from tuilab.program.case import Case
from tuilab.program.effects import Effect, effects, effects_of
from tuilab.program.sites import BUILDERS

Place = tuple[str, int]
MOST_NAMED = 3


@dataclass(frozen=True)
class Unmet:
    """A precondition that the program does not meet.

    first: what to change before following the advice. instead: True if `first` replaces the advice, because
    following the advice would fail.
    """

    first: str
    instead: bool = False


Need = Callable[[Case, Place], list[Unmet]]


@dataclass(frozen=True)
class Advice:
    change: str
    preset: str = ""
    needs: tuple[Need, ...] = ()


def advise(key: str, case: Case, at: Place) -> tuple[str, tuple[str, ...], str]:
    """Return the advised change for a finding at a line, changes to make first, and the preset that shows the
    problem.

    Each unmet precondition adds a change to make first, or replaces the advised change.
    """
    advice = TABLE[key]
    unmet = [each for need in advice.needs for each in need(case, at)]
    if instead := tuple(each.first for each in unmet if each.instead)[:MOST_NAMED]:
        return "; ".join(instead), instead, ""
    first = tuple(each.first for each in unmet)[:MOST_NAMED]
    change = f"{advice.change}; but first: {'; '.join(first)}" if first else advice.change
    return change, first, advice.preset


def place(file: str, line: int) -> str:
    """Return a place such as ` (train.py:12)`; "" if unknown."""
    return f" ({found})" if (found := source.place(file, line)) else ""


# Preconditions


def no_side_effects(case: Case, at: Place) -> list[Unmet]:
    """Return an unmet condition if the step has Python code that a graph would run only during tracing."""
    return _first(effects(case.sources, *at))


def none_in_train_step(case: Case, at: Place) -> list[Unmet]:
    """Return an unmet condition if the training step's methods contain Python code that a graph would run
    only once.
    """
    return _first(effects_of(case.sources, ("train_step", "call", "compute_loss")))


def _first(found: tuple[Effect, ...]) -> list[Unmet]:
    return [Unmet(f"{each.first}{place(each.file, each.line)}") for each in found]


def xla_compiles(case: Case, at: Place) -> list[Unmet]:
    """Return an unmet condition if the step has ops that XLA does not support."""
    step, keras = case.of.step, case.of.kind == "keras"
    held = case.of.held.get(step, {}) if isinstance(step, int) else {}
    return [
        Unmet(
            f"move {_shown(op)}{place(*where)} out of the function: XLA cannot compile {op}, so it "
            "cannot fuse the function",
            instead=True,
        )
        for op, where in held.items()
        if op in NOT_IN_XLA
        # Keras fetches the batch outside of the function that jit_compile compiles
        and not (keras and op in ITERATORS)
    ]


def _shown(op: str) -> str:
    return "tf.numpy_function or tf.py_function" if op in PYTHON else f"the op {op}"


def one_shape(case: Case, at: Place) -> list[Unmet]:
    """Return an unmet condition if arguments vary in shape: XLA compiles once for each shape."""
    step = case.of.step
    traces = case.of.traces.get(step, []) if isinstance(step, int) else []
    shapes = {
        repr([row[1] for row in described or () if row and row[0] == "tensor"]) for _, described in traces
    }
    if len(shapes) < 3:
        return []
    return [Unmet(f"pad its arguments to one shape: XLA compiles once for each of its {len(shapes)} shapes")]


def no_callback_of_batches(case: Case, at: Place) -> list[Unmet]:
    """Return an unmet condition if callbacks run before or after each batch.

    With `steps_per_execution`, Keras would run them only once per execution.
    """
    for name in ("on_train_batch_end", "on_train_batch_begin", "on_batch_end", "on_batch_begin"):
        if (found := source.method(case.sources, name))[1]:
            return [
                Unmet(
                    f"{name}{place(*found)} would be called only once per {STEPS_AT_ONCE} batches: move it "
                    "to the end of the epoch"
                )
            ]
    return []


def nothing_random(case: Case, at: Place) -> list[Unmet]:
    """Return an unmet condition if the stage has a random op or follows a `.repeat()`.

    A cache would repeat the first random values, or would never be complete.
    """
    stages = [s for d in case.of.datasets for s in d.stages if (s.file, s.line) == at]
    if any("Random" in op or "random" in op for stage in stages for op in stage.ops):
        return [
            Unmet("move its random ops after the cache, which would otherwise repeat the first random values")
        ]
    if any(s.stage in ("Repeat", "RepeatForever") for d in case.of.datasets for s in _below(d.stages, at)):
        return [Unmet("move .repeat() after the cache, which would otherwise never be complete")]
    return []


def _below(stages: tuple, at: Place) -> tuple:  # type: ignore[type-arg]
    """Return the stages that feed the stage at that line. A dataset's last stage comes first."""
    index = next((n for n, stage in enumerate(stages) if (stage.file, stage.line) == at), len(stages))
    return stages[index + 1 :]


def scaled_loss(case: Case, at: Place) -> list[Unmet]:
    """Return an unmet condition for a custom training loop, because only Keras' `fit` scales the loss for
    mixed precision automatically.
    """
    if case.of.kind == "keras":
        return []
    return [
        Unmet("scale the loss (keras.mixed_precision.LossScaleOptimizer): otherwise small gradients become 0")
    ]


def no_range(case: Case, at: Place) -> list[Unmet]:
    """Return an unmet condition if an argument is passed to Python's `range`, because a tensor would require
    tf.range.
    """
    for node in ast.walk(source.tree_of(case.sources.get(at[0], ""))):
        if isinstance(node, ast.FunctionDef) and node.lineno == at[1]:
            names = {argument.arg for argument in node.args.args}
            calls = (call for call in ast.walk(node) if isinstance(call, ast.Call))
            for call in calls:
                if getattr(call.func, "id", "") == "range" and source.names_in(*call.args) & names:
                    here = place(at[0], call.lineno)
                    return [Unmet(f"range() does not accept a tensor: use tf.range{here}")]
    return []


def same_each_round(case: Case, at: Place) -> list[Unmet]:
    """Return an unmet condition if the sizes of the model depend on the loop variable, because each iteration
    then needs a different model.
    """
    names, loop = source.loop_names(case.sources, *at), source.loop(case.sources, *at)
    lines = {at, *source.calls_in_loop(case.sources, at[0], loop, BUILDERS).values()}
    used = {name for line in lines for name in source.names_of_call(case.sources, *line)} & names
    if not used:
        return []
    return [
        Unmet(
            f"the model depends on the loop's {listed(sorted(used))}: build one model per configuration "
            "and reuse it",
            instead=True,
        )
    ]


# The table

_MIXED = "call keras.mixed_precision.set_global_policy('mixed_float16')"
_CACHE = "or cache results that are used again"
_IN_OPS = "write the mapped function in TensorFlow ops, or prepare the data once"
TABLE: dict[str, Advice] = {
    # Input
    "input-bound": Advice(
        f"make the slowest stage cheaper, run it in parallel, {_CACHE} (.cache())",
        "slow-map",
        (nothing_random,),
    ),
    "input-bound, in parallel": Advice(  # Python code in a map needs the GIL even in parallel calls
        f"make the slowest stage cheaper, {_CACHE} (.cache())",
        "slow-map",
        (nothing_random,),
    ),
    "input-bound, cached": Advice(
        "the pipeline caches its results, so later passes over the data hardly wait; for the first pass, "
        "make the slowest stage cheaper or run it in parallel",
        "slow-map",
    ),
    "input-bound, generator": Advice(
        "replace the Python generator with TensorFlow ops (TFRecord, .map)", "slow-map"
    ),
    "input-bound, PyDataset": Advice(
        "make __getitem__ cheaper or, if it may run on several threads, pass workers=4 to the PyDataset",
        "slow-map",
    ),
    "input-elsewhere": Advice(
        "prepare its batches in parallel (num_parallel_calls) and ahead of the steps (prefetch)", "slow-map"
    ),
    "input-elsewhere, python": Advice(  # parallel calls of Python code take turns
        f"write the Python code in TensorFlow ops, {_CACHE} (.cache() after the map)",
        "python-in-map",
        (nothing_random,),
    ),
    "python-in-map": Advice(_IN_OPS, "python-in-map"),
    "python-in-map, serial": Advice(
        f"{_IN_OPS}; if it mostly waits for files or computes in NumPy, which release the GIL, try "
        "num_parallel_calls=tf.data.AUTOTUNE",
        "python-in-map",
    ),
    "serial-map": Advice("pass num_parallel_calls=tf.data.AUTOTUNE to .map", "serial-augmentation"),
    "no-prefetch": Advice("end the pipeline with .prefetch(tf.data.AUTOTUNE)", "slow-map"),
    # Functions and traces
    "retraced": Advice("call the function with arguments that do not change, or give it an input_signature"),
    "retraced, a Python number": Advice(
        "pass it as a tensor (tf.constant), or as a tf.Variable", needs=(no_range,)
    ),
    "retraced, a new shape": Advice(
        "pad or batch to one shape (drop_remainder=True), or give an input_signature with None"
    ),
    "retraced, several changes": Advice(
        "fix all of these, because each alone causes traces: pass numbers as tensors, create objects once, "
        "and give an input_signature with None for a shape that varies",
        needs=(no_range,),
    ),
    "retraced, a new object": Advice("create the object once and pass the same one each time"),
    "retraced, recreated": Advice("create the tf.function once, before the loop"),
    "xla-recompiles": Advice(
        "pad the arguments to one shape, or to a few lengths such as powers of two: XLA compiles "
        "once per shape"
    ),
    "rebuilt": Advice(
        "build and compile the model once, before the loop; to start each round from the same weights, save"
        " model.get_weights() and the optimizer's variables, and restore them each time",
        needs=(same_each_round,),
    ),
    "rebuilt, a part": Advice("build it once, before the loop", needs=(same_each_round,)),
    "cudnn-off": Advice("remove the setting, so that Keras uses cuDNN's kernel on a GPU"),
    # Python code between the steps or instead of a step
    "eager-functions": Advice(
        "remove the call, which is only for debugging", "tiny-ops", needs=(none_in_train_step,)
    ),
    "eager-step": Advice(
        "put the step into a function under @tf.function", "tiny-ops", needs=(no_side_effects,)
    ),
    "eager-step, of Keras": Advice("remove run_eagerly=True", "tiny-ops", needs=(none_in_train_step,)),
    "eager-step, a model": Advice(
        "call it once for all rows, or from a function under @tf.function: model(x, training=False)"
    ),
    "eager-step, outside": Advice("move them into the tf.function", "tiny-ops", needs=(no_side_effects,)),
    "read-each-step": Advice("keep it as a tensor; read it every hundred steps, or at the epoch's end"),
    "numpy-fed": Advice("create one tf.data.Dataset from them, with .prefetch(tf.data.AUTOTUNE)", "slow-map"),
    "between-steps": Advice(
        "do it less often, or in parallel with training (a thread, an asynchronous checkpoint)"
    ),
    "between-steps, waiting": Advice(
        "make what this line waits for (a thread, a file, a network, a sleep) faster, or begin it earlier"
    ),
    "saving": Advice("save once an epoch (save_freq='epoch'), or every thousand steps"),
    "slowing": Advice(
        "look for an object that grows with each step: a list of tensors that is never emptied, new "
        "tf.functions or variables, a history that is copied"
    ),
    "predict": Advice(
        "call predict() once for all rows, or the model itself under @tf.function: model(x, training=False); "
        "if their lengths differ, add reduce_retracing=True"
    ),
    "predict, fed back": Advice(
        "call the model itself under @tf.function, model(x, training=False): each call needs the "
        "previous result, so one predict() cannot replace them; keep the shape of x the same"
    ),
    "evaluate": Advice("call evaluate() once for all rows, or test_on_batch() for each"),
    "fit": Advice(
        "call train_on_batch(x, y), which does not build a pipeline per call, or collect the "
        "rows for one fit()"
    ),
    "epochs": Advice(
        "give each epoch more steps (.repeat() the data, set steps_per_epoch), and validate less often "
        "(validation_freq)"
    ),
    # Ops
    "float64": Advice(
        "use float32 where 7 digits suffice (dtype=tf.float32, .astype('float32'), keras.config.set_floatx)",
        "float64-matmul",
    ),
    "mixed-precision": Advice(_MIXED, "mixed-precision", needs=(scaled_loss,)),
    "launch-bound": Advice(
        "use a larger batch, or jit_compile=True", "tiny-ops", needs=(xla_compiles, one_shape)
    ),
    "launch-bound, few steps": Advice("use a larger batch", "tiny-ops"),
    "xla-off": Advice(
        "try @tf.function(jit_compile=True), which fuses them, and measure it: XLA's kernels may be slower",
        "tiny-ops",
        needs=(xla_compiles, one_shape),
    ),
    "small-batches": Advice(
        f"run many steps per call with compile(…, steps_per_execution={STEPS_AT_ONCE}); "
        "a larger batch may gain even more, but changes the training",
        "tiny-ops",
        needs=(no_callback_of_batches,),
    ),
    "python-called": Advice("write it with TensorFlow ops, or move it out of the step"),
    "host-op": Advice(
        "replace it with ops that have a GPU kernel, or move it into the input pipeline", "host-op-in-chain"
    ),
    # Devices and settings
    "gpu-hidden": Advice("remove the call to tf.config.set_visible_devices"),
    "gpu-hidden, by a variable": Advice("remove the line, or name a GPU that exists"),
    "no-gpu": Advice("run `tuilab doctor` to find the cause"),
    "gpu-idle": Advice("check the table of ops: it shows why each op is on the CPU", "host-op-in-chain"),
    "gpu-unused": Advice("use every GPU with tf.distribute.MirroredStrategy()", "data-parallel"),
    "gpu-shared": Advice("wait until it is free, or choose another with CUDA_VISIBLE_DEVICES", "contention"),
    "memory": Advice("use a smaller batch, or mixed precision", "device-memory"),
    "numerics-check": Advice("remove the call once the error is found"),
    "determinism": Advice("remove the call if results need not be bit-identical"),
}
