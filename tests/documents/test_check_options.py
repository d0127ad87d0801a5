import json
import shutil
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests import calling
from tests.documents.expected import DATA
from tuilab.cli.check import check
from tuilab.documents import RULES
from tuilab.documents.checker.files import usable_processors
from tuilab.model.errors import InputError

HEAD = "import time\nimport tensorflow as tf\n\nx = tf.random.normal((64, 64))\ntf.matmul(x, x).numpy()\n"
NO_WAIT = HEAD + "t = time.perf_counter()\ny = tf.matmul(x, x)\nprint(time.perf_counter() - t)\n"
CLOCK = HEAD + "t = time.time()\ntf.matmul(x, x).numpy()\nprint((time.time() - t) * 1e3 / 1)\n"
CLEAN = HEAD + "t = time.perf_counter()\ntf.matmul(x, x).numpy()\nprint(time.perf_counter() - t)\n"
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Change to an empty folder. Neither this folder nor its parents contain project settings."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(*words: str, data: bytes | None = None):
    return CliRunner().invoke(check, list(words), input=data)


def codes(result) -> list[str]:
    return [f["code"] for file in json.loads(result.stdout)["files"] for f in file["findings"]]


def script(name: str, text: str) -> Path:
    file = Path(name)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def test_the_number_of_a_bundled_document_needs_measure():
    assert "--measure" in str(call("000").exception)
    assert "--measure" not in str(call("nowhere.py").exception)


def test_exit_codes_are_those_of_a_linter():
    script("wrong.py", NO_WAIT)
    script("clock.py", CLOCK)
    script("clean.py", CLEAN)
    assert call("clean.py").exit_code == 0
    assert call("wrong.py").exit_code == 1
    assert call("clock.py").exit_code == 0
    assert call("clock.py", "--fail-on", "warning").exit_code == 1
    assert call("wrong.py", "--ignore", "TL103").exit_code == 0
    assert isinstance(call("nowhere.py").exception, InputError)


def test_bad_input_is_code_two_of_the_program():
    done = calling.here("check", "nowhere.py", "--no-worker")
    assert done.returncode == 2 and "nowhere.py" in done.stderr and not done.stdout


def test_folders_patterns_and_files_are_read_once_each():
    script("a/one.py", NO_WAIT)
    script("a/b/two.py", NO_WAIT)
    script("a/.venv/three.py", NO_WAIT)
    script("a/node_modules/four.py", NO_WAIT)
    script("a/table.csv", "x")
    script("a/numbers.py", "import time\nt = time.time()\nsum(range(9))\nprint(time.time() - t)\n")
    paths = [file["path"] for file in json.loads(call("a", "a/one.py", "--json").stdout)["files"]]
    assert sorted(paths) == ["a/b/two.py", "a/numbers.py", "a/one.py"]
    found = json.loads(call("a/**/*.py", "--json").stdout)["files"]
    assert {f["path"] for f in found} >= {"a/one.py", "a/b/two.py"}
    # In a folder, files without TensorFlow are not checked.
    (numbers,) = [f for f in found if f["path"] == "a/numbers.py"]
    assert numbers["findings"] == []


def test_several_processes_give_the_same_findings_as_one():
    for number in range(12):
        script(f"many/{number:02}.py", NO_WAIT if number % 3 else CLEAN)
    one, several = call("many", "--json", "-j", "1"), call("many", "--json", "-j", "2")
    assert json.loads(one.stdout) == json.loads(several.stdout)
    assert codes(one).count("TL103") == 8
    assert usable_processors() >= 1


def test_select_ignore_and_preview():
    article = (
        "TensorFlow chooses the CPU for small tensors by a cost analysis.\n\n```python\n" + NO_WAIT + "```\n"
    )
    script("x.md", article)
    assert codes(call("x.md", "--json")) == ["TL103"]
    assert codes(call("x.md", "--json", "--preview")) == ["TL306", "TL103"]
    assert codes(call("x.md", "--json", "--preview", "--select", "TL3")) == ["TL306"]
    assert codes(call("x.md", "--json", "--ignore", "TL1")) == []
    for words in (("--select", "TL999"), ("--ignore", "E501")):
        error = call("x.md", *words).exception
        assert isinstance(error, InputError) and words[1] in str(error)


def test_noqa_and_ignore_comments_leave_findings_out():
    last = "print(time.perf_counter() - t)"
    for comment in ("# noqa", "# noqa: TL103", "# NOQA:TL103,TL104", "# noqa: E501, TL103"):
        script("x.py", NO_WAIT.replace(last, f"{last}  {comment}"))
        assert codes(call("x.py", "--json")) == [], comment
    script("x.py", NO_WAIT.replace(last, f"{last}  # noqa: E501"))
    assert codes(call("x.py", "--json")) == ["TL103"]
    fenced = f"```python\n{NO_WAIT}```\n"
    script("x.md", f"Text.\n\n<!-- tuilab: ignore TL103 -->\n\n{fenced}\nMore.\n\n{fenced}")
    found = json.loads(call("x.md", "--json").stdout)["files"][0]["findings"]
    assert [(f["code"], f["also"]) for f in found] == [("TL103", [])]
    assert found[0]["line"] > 15
    script("x.md", f"<!-- tuilab: ignore-file TL103 -->\n\n{fenced}\nMore.\n\n{fenced}")
    assert codes(call("x.md", "--json")) == []
    script("x.py", "# tuilab: ignore-file TL103\n" + NO_WAIT)
    assert codes(call("x.py", "--json")) == []


def test_a_projects_settings():
    script(
        "pyproject.toml",
        '[tool.tuilab.check]\nignore = ["TL103"]\nfail-on = "warning"\nexclude = ["old/*"]\n',
    )
    script("src/new.py", NO_WAIT)
    script("old/x.py", CLOCK)
    assert call(".").exit_code == 0
    # the command line takes precedence
    assert call(".", "--ignore", "TL1", "--select", "TL001").exit_code == 0
    assert call("src", "--ignore", "TL101").exit_code == 1
    for wrong, key in (
        ("select = 3", "select"),
        ("fail_on = 'note'", "fail_on"),
        ("ignore = ['X']", "ignore"),
    ):
        script("pyproject.toml", f"[tool.tuilab.check]\n{wrong}\n")
        error = call(".").exception
        assert isinstance(error, InputError) and "pyproject.toml" in str(error) and key in str(error)


def test_a_baseline_knows_findings_by_their_line_and_not_its_number():
    script("x.py", NO_WAIT)
    assert call("x.py", "--write-baseline", "known.json").exit_code == 0
    assert call("x.py", "--baseline", "known.json").exit_code == 0
    script("x.py", "# a line more\n" + NO_WAIT)
    assert call("x.py", "--baseline", "known.json").exit_code == 0
    script("x.py", NO_WAIT + "t = time.perf_counter()\ny = tf.exp(x)\ntook = time.perf_counter() - t\n")
    assert call("x.py", "--baseline", "known.json").exit_code == 1
    script("broken.json", "{}")
    assert isinstance(call("x.py", "--baseline", "broken.json").exception, InputError)


def test_a_finding_in_a_notebook_has_its_cell_and_the_line_in_it():
    cells = [{"cell_type": "markdown", "source": "# T"}, {"cell_type": "code", "source": NO_WAIT}]
    Path("n.ipynb").write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}))
    (found,) = json.loads(call("n.ipynb", "--json").stdout)["files"][0]["findings"]
    assert (found["cell"], found["cell_line"]) == (2, 8)
    assert call("n.ipynb").stdout.startswith("n.ipynb:cell 2:8:1: TL103 error: ")


def test_sarif_is_read_by_a_model_made_from_its_schema():
    models = pytest.importorskip("sarif_pydantic")
    script("a b.py", NO_WAIT + CLOCK)
    result = call("a b.py", "--format", "sarif")
    log = models.Sarif.model_validate_json(result.stdout)
    (run,) = log.runs
    assert [rule.id for rule in run.tool.driver.rules] == [rule.code for rule in RULES]
    levels = {found.rule_id: str(getattr(found.level, "value", found.level)) for found in run.results}
    assert levels["TL103"] == "error" and levels["TL107"] == "warning"
    place = run.results[0].locations[0].physical_location
    assert place.artifact_location.uri == "a%20b.py" and place.region.start_line == 8


def test_a_github_annotation_line():
    script("a,b.py", NO_WAIT)
    (line,) = call("a,b.py", "--format", "github").stdout.splitlines()
    assert line.startswith(
        "::error file=a%2Cb.py,line=8,col=1,title=TL103::the clock is read without waiting"
    )
    script("c.py", CLOCK)
    assert call("c.py", "--format", "github").stdout.startswith("::warning file=c.py,line=6,")


def test_fix_changes_only_mechanical_mistakes():
    code = (
        "import time\nimport tensorflow as tf\n\n"
        "x = tf.log( tf.ones((4, 4)) )   # keeps   its layout\n"
        "i = tf.argmax(x,   dimension=1)\n"
        "tf.matmul(x, x).numpy()\n"
        "t = time.time()\ntf.matmul(x, x).numpy()\nprint('took', time.time() - t)\nstamp = time.time()\n"
    )
    file = script("x.py", code)
    shown = call("x.py", "--diff")
    assert shown.exit_code == 1 and file.read_text() == code
    assert "-t = time.time()\n+t = time.perf_counter()\n" in shown.stdout
    call("x.py", "--fix")
    mended = code.replace("tf.log(", "tf.math.log(").replace("dimension=1", "axis=1")
    mended = mended.replace("t = time.time()\ntf.", "t = time.perf_counter()\ntf.").replace(
        "time.time() - t", "time.perf_counter() - t"
    )
    assert file.read_text() == mended
    assert call("x.py", "--diff").exit_code == 0 and call("x.py", "--diff").stdout == ""
    assert codes(call("x.py", "--json")) == []


@pytest.mark.parametrize(
    "use", ["print(time.ctime(t))", "print('begun', t)", "deadline = t + 60", "save(t)", "print(f'{t}')"]
)
def test_fix_leaves_a_reading_that_is_a_date_too(use):
    code = CLOCK.replace("tf.matmul(x, x).numpy()\nprint", f"tf.matmul(x, x).numpy()\n{use}\nprint")
    file = script("x.py", code)
    assert use in code and "TL107" in codes(call("x.py", "--json"))
    call("x.py", "--fix")
    assert file.read_text() == code


def test_the_level_holds_in_every_format():
    script("x.py", CLOCK)
    for level, found in (("error", 0), ("warning", 1)):
        assert len(codes(call("x.py", "--json", "--level", level))) == found
        log = json.loads(call("x.py", "--format", "sarif", "--level", level).stdout)
        assert len(log["runs"][0]["results"]) == found


def test_sarif_recognizes_a_finding_after_its_line_moves():
    def results(head: str) -> list[dict[str, object]]:
        script("x.py", head + NO_WAIT)
        (run,) = json.loads(call("x.py", "--format", "sarif").stdout)["runs"]
        assert all(rule["helpUri"].startswith("https://") for rule in run["tool"]["driver"]["rules"])
        return run["results"]

    (before,), (after,) = results(""), results("# moved\n\n")
    assert before["partialFingerprints"] == after["partialFingerprints"]
    assert before["locations"] != after["locations"]


def test_fix_leaves_a_notebook_and_an_indented_fence_as_they_were_written():
    cells = [
        {"cell_type": "code", "metadata": {}, "outputs": [], "source": CLOCK.splitlines(keepends=True)},
        {"cell_type": "markdown", "metadata": {}, "source": ["t = time.time() ü"]},
    ]
    text = (
        json.dumps({"cells": cells, "metadata": {"k": 1}, "nbformat": 4}, indent=1, ensure_ascii=False) + "\n"
    )
    notebook = script("n.ipynb", text)
    inside = "".join(f"    {line}\n" if line else "\n" for line in CLOCK.splitlines())
    article = script("x.md", f"- Item\n\n    ```python\n{inside}    ```\n\nTime is time.time().\n")
    before = article.read_text()
    call("n.ipynb", "x.md", "--fix")
    changed = [
        pair
        for pair in zip(text.splitlines(), notebook.read_text().splitlines(), strict=True)
        if pair[0] != pair[1]
    ]
    assert [new.strip() for _, new in changed] == [
        r'"t = time.perf_counter()\n",',
        r'"print((time.perf_counter() - t) * 1e3 / 1)\n"',
    ]
    lines = list(zip(before.splitlines(), article.read_text().splitlines(), strict=True))
    assert [new for old, new in lines if old != new] == [
        "    t = time.perf_counter()",
        "    print((time.perf_counter() - t) * 1e3 / 1)",
    ]


def test_target_says_which_tensorflow_the_names_are_of():
    old = "import tensorflow as tf\na = tf.placeholder(tf.float32)\nb = tf.get_variable('b', ())\ns = tf.Session()\n"
    script("old.py", old)
    assert codes(call("old.py", "--json")) == ["TL007"]
    assert "tf_upgrade_v2" in call("old.py").stdout
    assert codes(call("old.py", "--json", "--target", "1")) == []
    assert codes(call("old.py", "--json", "--target", "2")) == ["TL001"] * 3


def test_repeats_collapse_into_the_first():
    script("x.py", "import tensorflow as tf\n" + "y = tf.log(1.0)\n" * 7)
    result = call("x.py")
    assert result.stdout.count("TL001") == 1
    assert "(also lines 3, 4, 5, 6 and 2 more)" in result.stdout


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.code)
def test_explain(rule):
    text = call("--explain", rule.code.lower()).stdout
    assert rule.title in text and "Wrong:" in text and "Right:" in text
    assert rule.right.split("\n")[0] in text


def test_explain_of_no_rule_is_bad_input():
    assert isinstance(call("--explain", "TL9").exception, InputError)
    assert isinstance(call("--explain", "TL1").exception, InputError)


def test_output_goes_to_a_file():
    script("x.py", NO_WAIT)
    result = call("x.py", "--format", "sarif", "-o", "out.sarif")
    assert result.stdout == "" and json.loads(Path("out.sarif").read_text())["version"] == "2.1.0"


def test_the_pre_commit_hook_calls_an_existing_command():
    text = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
    assert "entry: tuilab check\n" in text and "types_or: [python, jupyter, markdown]" in text
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
    assert "tuilab" in scripts


def test_what_cannot_be_read_in_a_folder_is_said_and_the_rest_is_checked():
    shutil.copy(DATA / "archive.md", "archive.md")
    script("x.py", NO_WAIT)
    Path("gone.py").symlink_to("nowhere.py")
    result = call(".")
    assert "gone.py" in result.stdout and "TL103" in result.stdout
    assert "1 file could not be read" in result.stderr
