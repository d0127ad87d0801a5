"""Watches the programs in ../shared/cases/watch. One of the first two findings of `tuilab watch --json` must
be the finding that the program's first line states.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from tests.calling import environment, run
from tuilab.model.program import Code, Page
from tuilab.program.gains import at_most

FOLDER = Path(__file__).resolve().parents[2].parent / "shared" / "cases" / "watch"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.long,
    pytest.mark.skipif(not FOLDER.exists(), reason="needs ../shared/cases/watch"),
]
Environment = Callable[..., dict[str, str]]
NAMED = 2
"""Number of leading findings that must include the expected finding."""


@dataclass(frozen=True)
class Answer:
    """The findings that tuilab must report for a program.

    expected: words of the file's first line. at: text of each line that has a finding. says, change: words of
    the finding's message and of its change. never: words that must not occur in a change.
    """

    expected: str
    code: Code
    at: tuple[str, ...]
    says: tuple[str, ...] = ()
    change: tuple[str, ...] = ()
    never: str = ""


ANSWERS = {
    "copied_every_step_emulated_gpu": Answer(
        "the batch is copied from NumPy on every step", "numpy-fed", ("loss = step(tf.constant(",)
    ),
    "eager_step_numpy_random": Answer(
        "a warning that np.random in the step is then drawn once",
        "eager-step",
        ("with tf.GradientTape()",),
        change=("under @tf.function", "np.random would be drawn only once"),
    ),
    "fit_then_predict_loop": Answer(
        "first finding: predict() in the loop", "between-steps", ("out.append(m.predict",), ("predict()",)
    ),
    "float64_over_100": Answer(
        "a share of at most 100 %", "float64", ("return tf.matmul(a, b)",), change=("float32",)
    ),
    "model_rebuilt_in_loop": Answer(
        "the model is built and compiled in the loop: 14 traces",
        "rebuilt",
        ("m = keras.Sequential(",),
        ("built and compiled", "14 rounds"),
        ("once, before the loop",),
    ),
    "predict_in_helper": Answer(
        "call the model itself",
        "between-steps",
        ("return model.predict(",),
        change=("predict() once for all rows", "model(x, training=False)"),
        never="repeat",
    ),
    "recurrent_dropout_emulated_gpu": Answer(
        "recurrent_dropout keeps Keras from cuDNN", "cudnn-off", ("layers.LSTM(",), ("recurrent_dropout",)
    ),
    "three_pipelines_one_line": Answer(
        "lines 12, 13 (predict) and 15 (fit) all named",
        "between-steps",
        ("target = m.predict(", "nxt = m.predict(", "m.fit("),
    ),
    "xla_off_numpy_function": Answer(
        "no jit_compile for a function that holds tf.numpy_function",
        "xla-off",
        ("def episode(",),
        change=("tf.numpy_function",),
        never="jit_compile",
    ),
    "xla_recompiles_signature": Answer(
        "xla-recompiles at foo: 120 compilations for 120 shapes",
        "xla-recompiles",
        ("def foo(",),
        ("120 times for 120 shapes",),
    ),
}


def test_every_case_has_an_answer() -> None:
    assert {file.stem for file in FOLDER.glob("*.py")} == set(ANSWERS)


@pytest.mark.parametrize("name", ANSWERS)
def test_the_answer_is_as_the_first_line_says(
    tmp_path: Path, name: str, request: pytest.FixtureRequest
) -> None:
    file, answer = FOLDER / f"{name}.py", ANSWERS[name]
    lines = file.read_text().splitlines()
    assert answer.expected in lines[0]
    more = {}
    if "emulated_gpu" in name:
        more = request.getfixturevalue("emulated_gpu")(copy_gbps=1.0)
    out = tmp_path / "page.json"
    env = environment(tmp_path / "data", TUILAB_TESTS_FORKED="", **more)
    done = run(tmp_path, "watch", "--plain", "--json", str(out), str(file), seconds=600, env=env)
    assert done.returncode == 0, done.stderr
    page = msgspec.json.decode(out.read_bytes(), type=Page)
    found = [each for each in page.findings if each.code == answer.code]
    first = page.findings[: max(NAMED, len(answer.at))]
    for text in answer.at:
        number = next(n for n, line in enumerate(lines, 1) if text in line and not line.startswith("#"))
        (finding,) = [each for each in found if (each.file, each.line) == (str(file), number)]
        assert finding in first, done.stdout
        assert all(words in finding.message for words in answer.says), finding
        assert all(words in finding.remedy for words in answer.change), finding
    for finding in page.findings:
        assert finding.share is None or finding.share <= 1
        assert finding.program_share is None or finding.program_share <= 1
        assert not answer.never or answer.never not in finding.remedy, finding
    if len(answer.at) > 1:
        # Fixing one of several lines does not save the time of the others.
        assert sum(each.program_share or 0.0 for each in found) <= 1
        gains = [at_most(each) for each in found]
        assert all(gain is not None and gain.program is not None and gain.program < 3 for gain in gains)


def test_a_notebook_is_not_a_program(tmp_path: Path) -> None:
    done = run(tmp_path, "watch", "--plain", str(FOLDER / "notebook.ipynb"))
    assert done.returncode and "jupyter nbconvert --to script" in done.stderr
