"""Every rule: its stable code, what it is called, why it matters and what to do instead."""

from tuilab.documents.example import Example
from tuilab.documents.rules import beliefs, comparison, names, placement, regions, tracing, warmth
from tuilab.documents.rules.rule import Finding, Rule
from tuilab.model.sanitize import sanitize_line

RULES: tuple[Rule, ...] = (
    Rule(
        "TL001",
        "API that does not exist",
        "The code stops here with an AttributeError or ImportError, so it was never run as it stands.",
        "Use a name that this TensorFlow has.",
        names.missing_api,
    ),
    Rule(
        "TL002",
        "Argument that the function does not take",
        "The call raises a TypeError.",
        "Use the function's own parameter names.",
        names.wrong_argument,
    ),
    Rule(
        "TL003",
        "Argument of the wrong type",
        "The call raises, or means something else.",
        "Give what the function takes.",
        names.wrong_type,
    ),
    Rule(
        "TL004",
        "Key that the result does not have",
        "The look-up raises a KeyError.",
        "Use a key that the result has.",
        names.wrong_key,
    ),
    Rule(
        "TL005",
        "Handler for an error that cannot come",
        "The error passes the handler by, and the program ends where it was meant to go on.",
        "Catch tf.errors.ResourceExhaustedError, or tf.errors.OpError for all of TensorFlow's.",
        names.unraisable,
    ),
    Rule(
        "TL006",
        "IPython magic in Python code",
        "Outside of IPython and Jupyter the file does not even start.",
        "Use timeit.repeat, or say that this is a notebook's cell.",
        names.magics,
    ),
    Rule(
        "TL101",
        "Nothing computed in the timed region",
        "The figure is the cost of an empty loop, whatever the device.",
        "Call the function inside the timed region, and use its result.",
        regions.nothing_computed,
    ),
    Rule(
        "TL102",
        "Computed before timing",
        "The work was done once, elsewhere; the timed code only names its result.",
        "Move the call to where the clock runs.",
        regions.computed_before,
    ),
    Rule(
        "TL103",
        "No wait for the device",
        "A GPU works on after the call has returned: the clock shows the cost of asking, not of computing.",
        "Wait before each reading: tf.test.experimental.sync_devices(), or take the result's .numpy().",
        regions.no_sync,
    ),
    Rule(
        "TL104",
        "No warm-up",
        "The first call traces, compiles, loads kernels and takes memory; the others share its time.",
        "Call the function a few times before the clock starts.",
        warmth.no_warm_up,
    ),
    Rule(
        "TL105",
        "First call timed",
        "The figure is mostly the cost of starting, which is paid once.",
        "Time a later call, and give the first call's time apart.",
        warmth.first_call_timed,
    ),
    Rule(
        "TL106",
        "Warm-up that warms nothing",
        "The function is as cold after it as before.",
        "Call the function in the warm-up, as the timed code does.",
        warmth.warms_nothing,
    ),
    Rule(
        "TL107",
        "Coarse or wrong clock",
        "The reading can jump, or stand still while the device works.",
        "Use time.perf_counter().",
        regions.bad_clock,
    ),
    Rule(
        "TL108",
        "Set-up in the timed region",
        "The figure holds what is done once beside what is meant.",
        "Import, make data and build the model before the clock starts.",
        regions.set_up_timed,
    ),
    Rule(
        "TL109",
        "Pipeline started in the timed region",
        "Starting threads and filling buffers takes as long as many batches.",
        "Take the first batches before the clock starts, from the same iterator.",
        warmth.iterator_start,
    ),
    Rule(
        "TL110",
        "A loop that should train and does not",
        "Input and training overlap; without the step nothing shows whether the device waits.",
        "Run the step on each batch, and measure how long it waits for input.",
        warmth.trains_nothing,
    ),
    Rule(
        "TL111",
        "Comparison of unlike work",
        "The ratio tells the difference of the work, not of the devices.",
        "Give both the same work, and divide by the iterations.",
        comparison.unlike_work,
    ),
    Rule(
        "TL112",
        "Comparison where nothing computes",
        "At this size each op costs its dispatch, which is the same for all.",
        "Compare at sizes at which the arithmetic shows, and sweep the size.",
        comparison.dispatch_bound,
    ),
    Rule(
        "TL201",
        "Python that runs only while tracing",
        "The graph holds no trace of it, so it neither costs time nor happens again.",
        "Use ops (tf.print, tf.random), or tf.py_function for Python that must run each time.",
        tracing.side_effects,
    ),
    Rule(
        "TL202",
        "tf.function made in a loop",
        "Each new one is traced again, which takes longer than most functions run.",
        "Make it once, before the loop.",
        tracing.remade_graph,
    ),
    Rule(
        "TL301",
        "Device scope around no op",
        "A scope places the ops that are called inside it, and there are none.",
        "Call the op inside the scope.",
        placement.idle_scope,
    ),
    Rule(
        "TL302",
        "Silent soft placement",
        "A device that is not there is replaced without a word, and the figure gets the wrong name.",
        "Check the result's .device, or call tf.config.set_soft_device_placement(False).",
        placement.soft_placement,
    ),
    Rule(
        "TL303",
        "Mapped function believed to run on the GPU",
        "tf.data runs on the host; what parallel calls gain is more of the host's cores.",
        "Put the work into the model or the training step if the GPU is to do it.",
        placement.mapped_on_gpu,
    ),
    Rule(
        "TL304",
        "Tensor believed to be on the CPU",
        "Where a GPU is visible the copy has already happened when the tensor is made.",
        "Make it inside tf.device('/CPU:0'), or keep it as a NumPy array.",
        placement.believed_on_host,
    ),
    Rule(
        "TL305",
        "Kernel believed missing",
        "The reason given for a slow op is not the reason.",
        "Look the kernel up: tuilab explain tells which dtypes a GPU kernel takes.",
        placement.believed_kernel,
    ),
    Rule(
        "TL306",
        "Placement believed to follow size or cost",
        "A small op runs on the GPU too where it has a kernel, and is slower there.",
        "Place small work with tf.device, and measure where the crossover lies.",
        beliefs.by_size,
    ),
    Rule(
        "TL307",
        "Fall-back believed when memory runs out",
        "The program ends with an error instead of going on slowly.",
        "Catch tf.errors.ResourceExhaustedError and make the work smaller.",
        beliefs.by_memory,
    ),
    Rule(
        "TL308",
        "Fall-back believed when the GPU is busy",
        "The ops stay on the GPU and wait their turn.",
        "Measure with and without the other load.",
        beliefs.by_contention,
    ),
    Rule(
        "TL401",
        "File that was just written",
        "The operating system still holds it in memory, and made-up data does not decode like real data.",
        "Read a file larger than memory, or call the figure what it is: decoding.",
        placement.just_written,
    ),
)
_BY_CODE = {known.code: known for known in RULES}


def rule(code: str) -> Rule:
    """The rule of that code. Raises KeyError."""
    return _BY_CODE[code]


def check(example: Example) -> tuple[Finding, ...]:
    """Every rule's findings in the example, by line, each once for its code and line."""
    found: dict[tuple[int, str], Finding] = {}
    for known in RULES:
        for hit in known.check(example):
            message = sanitize_line(hit.message, 400)
            finding = Finding(known.code, hit.line, message, sanitize_line(hit.remedy or known.remedy, 400))
            found.setdefault((hit.line, known.code), finding)
    return tuple(found[key] for key in sorted(found))
