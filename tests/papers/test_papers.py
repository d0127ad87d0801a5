"""The Markdown pages are correct: generated references are up to date, links are valid, and commands work."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tests import calling
from tests.data_folder import knowing

ROOT = Path(__file__).resolve().parents[2]
PAPERS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
PYTHON = Path(sys.executable)

# Commands from the Markdown pages, which run in this order in one folder.
RUN = (
    "tuilab --version",
    "tuilab --help",
    "tuilab presets",
    "tuilab completion bash",
    "tuilab schema run",
    "tuilab check --explain TL103",
    "tuilab check article.md",
    "tuilab check --format full article.md",
    "tuilab check article.md notebook.ipynb docs/",
    "tuilab check docs/ --format github",
    "tuilab import article.md",
    "tuilab check --diff .",
    "tuilab check --fix .",
    "tuilab run stft-small --against help",
    "tuilab new mine",
    'tuilab run stft-small --budget quick --check --markdown >> "$GITHUB_STEP_SUMMARY"',
    "tuilab export last -o run.html",
    "tuilab history",
    "tuilab history --json",
    "tuilab history check",
    "tuilab hosts",
)
FINE = {"check": (0, 1), "run": (0, 2, 4)}
"""Valid exit codes of commands that may fail: 1 for a document with findings, 2 for an unknown GPU, 4 for an
unconfirmed claim.
"""

# commands that other tests run, each with its test
ELSEWHERE = {
    "tuilab --hangup end": "tests/journeys/test_dropped.py::test_with_hangup_end_a_dropped_connection_ends_everything",
    "tuilab run stft-small --env on=. --env off=.,TF_ENABLE_ONEDNN_OPTS=0": "tests/environments/test_oldest.py::test_two_environments_alternate_and_each_arm_names_its_environment",
    "tuilab run stft-small --env old=~/venvs/tf216 --env new=.": "tests/environments/test_oldest.py::test_two_environments_alternate_and_each_arm_names_its_environment",
    "tuilab --python ~/venvs/mine run stft-small": "tests/environments/test_oldest.py::test_a_preset_is_measured_and_says_where",
    "tuilab check --prove article.md": "tests/lab/test_proof.py::test_the_command_says_what_cannot_be_measured",
    "tuilab run MODEL.keras": "tests/worker/test_models.py::test_a_compiled_model_runs_in_every_arm_and_describes_itself",
    "tuilab run step": "tests/worker/test_models.py::test_a_captured_step_names_its_origin",
    "tuilab --preset stft-small": "tests/emulated_gpu/test_app.py::test_every_view_shows_the_gpu_arms",
    "tuilab check 000 --measure -o page.html": "tests/lab/test_fact_check.py::test_the_command_prints_each_verdict_and_writes_a_page",
    "tuilab check article.md --measure": "tests/lab/test_fact_check.py::test_the_claims_of_an_article_are_found",
    "tuilab doctor": "tests/doctor/test_report.py::test_the_text_names_every_probe",
    "tuilab explain MatMul --dtype int32": "tests/worker/placement/test_explain.py::test_command_prints_one_object_and_refuses_an_unknown_op",
    "tuilab explain stft-small": "tests/worker/placement/test_explain.py::test_command_explains_a_preset",
    "tuilab machine": "tests/cli/test_machine.py::test_a_machine_is_measured_once_and_used_in_the_next_run",
    "tuilab machine --again": "tests/cli/test_machine.py::test_a_machine_is_measured_once_and_used_in_the_next_run",
    "tuilab profile stft-small": "tests/worker/profile/test_real_profile.py::test_command_writes_the_folder_and_prints_one_object",
    "tuilab resume last": "tests/cli/test_resume.py::test_a_run_of_own_code_is_resumed",
    "tuilab run data-parallel": "tests/workloads/test_presets.py::test_every_cpu_arm_runs_here_and_no_other_arm_has_a_figure",
    "tuilab run matmul-dtypes --device GPU:0 --device GPU:1 --together": "tests/emulated_gpu/test_commands.py::test_two_gpus_together",
    "tuilab run stft-small": "tests/cli/test_commands.py::test_run_prints_one_object_with_real_medians",
    "tuilab run stft-small --against h100": "tests/cli/test_machine.py::test_a_machine_is_measured_once_and_used_in_the_next_run",
    "tuilab run stft-small --check": "tests/cli/test_commands.py::test_a_setting_changes_the_run_and_an_unconfirmed_claim_sets_the_exit_code",
    "tuilab run stft-small --host local --host gpu-07": "tests/remote/test_ssh_commands.py::test_arms_of_two_hosts_are_compared",
    "tuilab run stft-small --json": "tests/cli/test_commands.py::test_run_prints_one_object_with_real_medians",
    "tuilab run stft-small --set samples=64k --budget quick": "tests/cli/test_commands.py::test_a_setting_changes_the_run_and_an_unconfirmed_claim_sets_the_exit_code",
    "tuilab run stft-small --set samples=64k": "tests/cli/test_commands.py::test_a_setting_changes_the_run_and_an_unconfirmed_claim_sets_the_exit_code",
    "tuilab selftest": "tests/worker/measure/test_selftest.py::test_a_real_worker_tests_itself",
    "tuilab serve": "tests/browser/test_served.py::test_a_preset_is_measured_in_the_browser",
    "tuilab sweep stft-crossover --host gpu-07": "tests/remote/test_ssh_commands.py::test_a_dropped_connection_keeps_the_rounds_and_the_run_can_be_resumed",
    "tuilab sweep stft-small --axis samples=256:1M:x4": "tests/attack/test_attack.py::test_kills_at_random_moments_lose_no_round_and_leave_no_process",
    "tuilab resume RUN": "tests/remote/test_ssh_commands.py::test_a_dropped_connection_keeps_the_rounds_and_the_run_can_be_resumed",
    "tuilab run train.py:loss --input a=float32[batch=32,64] --input b=float32[batch,64]": "tests/cli/test_own_inputs.py::test_missing_shapes_are_requested_and_read_from_the_command_line",
    "tuilab sweep train.py:loss --axis batch=1:4k:x4 --input a=float32[batch=32,64] --input b=float32[batch,64]": "tests/cli/test_own_inputs.py::test_other_commands_take_shapes_too",
    "tuilab run mine.py:mine": "tests/cli/test_verdicts.py::test_the_starter_file_runs_unchanged_and_with_its_parameters_set",
    "tuilab run mine.py:step": "tests/cli/test_verdicts.py::test_the_starter_file_runs_unchanged_and_with_its_parameters_set",
    "tuilab sweep PRESET --on slurm --jobs 4": "tests/fleet/test_queue.py::test_a_job_is_a_node_and_is_cancelled_at_the_end",
    "tuilab sweep stft-crossover --on tcp://SCHEDULER:8786": "tests/fleet/test_commands.py::test_a_sweep_over_real_workers",
    "tuilab verdicts --on tcp://SCHEDULER:8786": "tests/fleet/test_commands.py::test_verdicts_over_real_workers",
    "tuilab history programs": "tests/watch/test_kept.py::test_pages_are_stored_and_replaced_and_found",
    "tuilab watch --python ~/venvs/mine": "tests/environments/test_oldest.py::test_a_program_is_watched_in_its_environment",
    "tuilab watch --host gpu-07 --host gpu-08 train.py": "tests/remote/test_watched.py::test_a_program_runs_remotely_in_the_same_folder_with_local_input",
    "tuilab watch --open": "tests/remote/test_watched.py::test_each_process_has_a_row_and_the_slowest_is_named",
    "tuilab watch --json": "tests/watch/test_passing_through.py::test_each_process_has_a_row_and_no_process_is_left",
    "tuilab history prune": "tests/history/test_recovery.py::test_a_history_on_a_full_disk_is_read_and_pruned",
    "tuilab history check --repair FILE": "tests/history/test_recovery.py::test_files_set_aside_are_reported_until_they_are_imported",
    "tuilab watch train.py": "tests/watch/test_passing_through.py::test_output_exit_code_and_input_pass_through",
    "tuilab verdicts": "tests/cli/test_verdicts.py::test_verdicts_are_printed_for_the_presets_named",
}


# commands that the text names without their arguments
NAMED = {
    "tuilab check", "tuilab check --explain", "tuilab check --explain CODE", "tuilab check --rules", "tuilab export",
    "tuilab run FILE.py:FUNCTION", "tuilab history import", "tuilab history save",
    "tuilab history compare", "tuilab history save RUN FILE", "tuilab schema NAME", "tuilab run --json", "tuilab run NAME",
}  # fmt: skip
ARTICLE = """# A product

```python
import time
import tensorflow as tf

x = tf.random.normal((512, 512))
tf.matmul(x, x)
start = time.time()
tf.matmul(x, x).numpy()
print(time.time() - start)
```
"""


def anchors(path: Path) -> set[str]:
    """Return the anchors that GitHub generates for a page's headings."""
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("paper", PAPERS, ids=lambda p: p.name)
def test_every_link_has_a_target(paper: Path) -> None:
    text = FENCE.sub("", paper.read_text(encoding="utf-8"))
    for target in LINK.findall(text):
        if re.match(r"(https?|mailto):", target):
            continue
        file, _, anchor = target.partition("#")
        there = (paper.parent / file).resolve() if file else paper
        assert there.exists(), f"{paper.name} links to {target}, which does not exist"
        if anchor:
            assert anchor in anchors(there), f"{paper.name} links to {target}: there is no such heading"


def test_the_references_match_the_program() -> None:
    made = subprocess.run([PYTHON, ROOT / "docs" / "make.py", "--check"], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr


def commands() -> Iterator[tuple[str, str]]:
    """Yield every `tuilab …` command in a shell block or in back quotes, with its page."""
    for paper in PAPERS:
        if paper.name == "CHANGELOG.md":
            continue
        text = paper.read_text(encoding="utf-8")
        lines = [line for kind, body in FENCE.findall(text) if kind == "sh" for line in body.splitlines()]
        lines += re.findall(r"`(tuilab [^`]+)`", FENCE.sub("", text))
        for line in lines:
            if line.startswith("tuilab "):
                yield paper.name, line.partition("  #")[0].strip()


@pytest.mark.parametrize(("paper", "line"), sorted(set(commands())))
def test_every_command_in_the_papers_exists(paper: str, line: str) -> None:
    """Checks the subcommand and every option, but not the arguments, which may name the user's own files."""
    from tuilab.cli.main import cli

    words = shlex.split(line)[1:]
    command: click.Command = cli
    context = click.Context(cli)
    while words and not words[0].startswith("-") and isinstance(command, click.Group):
        found = command.get_command(context, words[0])
        assert found is not None, f"{paper}: {line}: there is no command {words[0]}"
        command, words = found, words[1:]
    known = {option for parameter in command.params for option in parameter.opts + parameter.secondary_opts}
    for word in words:
        if word.startswith("--") and word != "--":
            assert word.partition("=")[0] in known | {"--help"}, f"{paper}: {line}: there is no option {word}"


@pytest.mark.parametrize("paper", PAPERS, ids=lambda p: p.name)
def test_every_path_in_the_papers_exists(paper: Path) -> None:
    """Checks the paths in back quotes, except placeholders, which contain a word in capitals."""
    if paper.name == "CHANGELOG.md":
        return  # the changelog may also name paths that no longer exist
    for text in re.findall(
        r"(?<!`)`((?:tuilab|tests|docs|presets)/[\w./-]+)`", FENCE.sub("", paper.read_text())
    ):
        own = any(word.isupper() for word in re.findall(r"\w+", text))
        assert own or (ROOT / text).exists(), f"{paper.name}: {text}"


def test_make_has_the_tasks_that_the_papers_name() -> None:
    tasks = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for paper in PAPERS:
        text = paper.read_text(encoding="utf-8")
        lines = [line for _, body in FENCE.findall(text) for line in body.splitlines()]
        for line in lines + re.findall(r"`([^`\n]+)`", FENCE.sub("", text)):
            words = line.split()
            if words[:1] == ["make"]:
                asked = {word for word in words[1:] if "=" not in word}
                assert asked <= tasks, f"{paper.name}: {line}"


def test_every_command_is_run_by_a_test() -> None:
    written = {line for _, line in commands()}
    assert written == {*RUN, *ELSEWHERE, *NAMED}
    for line, where in ELSEWHERE.items():
        file, _, name = where.partition("::")
        assert f"def {name}(" in (ROOT / file).read_text(encoding="utf-8"), f"{line}: {where} does not exist"


def called(line: str, folder: Path) -> calling.Done:
    """Run the line as a shell would, in this process unless the line needs a worker or a shell."""
    words = shlex.split(line)[1:]
    if (words[0] != "run" or "help" in words) and words != ["--version"]:
        return calling.here(*words)
    done = subprocess.run(["bash", "-c", line], cwd=folder, capture_output=True, text=True, timeout=300)
    return calling.Done(done.returncode, done.stdout, done.stderr)


@pytest.mark.slow
def test_the_commands_of_a_first_day_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{PYTHON.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "3")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    monkeypatch.setenv("TUILAB_DATA", knowing(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))  # `import` writes its presets there
    (tmp_path / "article.md").write_text(ARTICLE)
    notebook = {"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "notebook.ipynb").write_text(json.dumps(notebook))
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "further.md").write_text(ARTICLE)
    for line in RUN:
        done = called(line, tmp_path)
        assert done.returncode in FINE.get(line.split()[1], (0,)), f"{line}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr, f"{line}\n{done.stderr}"
    assert "time.perf_counter()" in (tmp_path / "article.md").read_text(), "--fix corrected the clock"
    assert "## Claims" in (tmp_path / "summary.md").read_text()


def test_the_workload_taught_in_the_papers_works(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "own-workload.md").read_text(encoding="utf-8")
    (source,) = [body for kind, body in FENCE.findall(text) if kind == "python" and "WORKLOAD =" in body]
    space: dict[str, object] = {"__name__": "taught"}
    exec(compile(source, "own-workload.md", "exec"), space)
    workload = space["WORKLOAD"]
    assert workload.declaration.parameter("samples") is not None  # type: ignore[attr-defined]
    assert workload.memory({"samples": 10}) == 120  # type: ignore[attr-defined]


@pytest.mark.slow
def test_the_function_taught_in_the_papers_runs(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "own-workload.md").read_text(encoding="utf-8")
    (source,) = [body for kind, body in FENCE.findall(text) if kind == "python" and "@tuilab.work" in body]
    (tmp_path / "own.py").write_text(source)
    words = ("--budget", "quick", "--set", "side=64", "--mode", "graph")
    done = calling.run(tmp_path / "data", "run", "own.py:product", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
