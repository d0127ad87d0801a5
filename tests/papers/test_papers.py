"""What the papers say is true: references current, links lead somewhere, commands exist and the local ones run."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

ROOT = Path(__file__).resolve().parents[2]
PAPERS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
PYTHON = Path(sys.executable)

# Run for real where a machine alone can: in this order, in one folder, with a history of its own.
RUN = (
    "tuilab new mine",
    "tuilab run mine.py:mine --budget quick",
    "tuilab run stft-small --budget quick",
    "tuilab run stft-small --set samples=64k --budget quick",
    "tuilab explain MatMul --dtype int32",
    "tuilab export last --format html -o run.html",
    "tuilab history",
    "tuilab history check",
    "tuilab hosts",
    "tuilab presets",
    "tuilab check --rules",
    "tuilab --version",
)


def anchors(path: Path) -> set[str]:
    """The anchors that a page's headings get, as GitHub makes them."""
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("paper", PAPERS, ids=lambda p: p.name)
def test_every_link_leads_somewhere(paper: Path) -> None:
    text = FENCE.sub("", paper.read_text(encoding="utf-8"))
    for target in LINK.findall(text):
        if re.match(r"(https?|mailto):", target):
            continue
        file, _, anchor = target.partition("#")
        there = (paper.parent / file).resolve() if file else paper
        assert there.exists(), f"{paper.name} links to {target}, which is not there"
        if anchor:
            assert anchor in anchors(there), f"{paper.name} links to {target}: there is no such heading"


def test_the_references_are_what_the_program_says_now() -> None:
    made = subprocess.run([PYTHON, ROOT / "docs" / "make.py", "--check"], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr


def commands() -> Iterator[tuple[str, str]]:
    """Every `tuilab …` in a shell block or in back quotes, with the paper that has it."""
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
def test_every_command_is_one_that_there_is(paper: str, line: str) -> None:
    """Its subcommand and every option exist; arguments are not looked at, since many stand for a person's own."""
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
def test_every_path_is_there(paper: Path) -> None:
    """A path in back quotes; one with a word in capitals stands for a person's own."""
    if paper.name == "CHANGELOG.md":
        return  # it tells of what was
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


@pytest.mark.slow
def test_the_commands_of_a_first_day_run(tmp_path: Path) -> None:
    environment = {**os.environ, "TUILAB_DATA": str(tmp_path / "data"), "TF_CPP_MIN_LOG_LEVEL": "3"}
    for line in RUN:
        words = [PYTHON, "-m", *shlex.split(line)]
        done = subprocess.run(
            words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"


def test_a_page_that_teaches_a_workload_teaches_one_that_works(tmp_path: Path) -> None:
    """The shipped workload of own-workload.md declares itself and says its memory."""
    text = (ROOT / "docs" / "own-workload.md").read_text(encoding="utf-8")
    (source,) = [body for kind, body in FENCE.findall(text) if kind == "python" and "WORKLOAD =" in body]
    space: dict[str, object] = {"__name__": "taught"}
    exec(compile(source, "own-workload.md", "exec"), space)
    workload = space["WORKLOAD"]
    assert workload.declaration.parameter("samples") is not None  # type: ignore[attr-defined]
    assert workload.memory({"samples": 10}) == 120  # type: ignore[attr-defined]


@pytest.mark.slow
def test_a_page_that_teaches_a_function_teaches_one_that_runs(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "own-workload.md").read_text(encoding="utf-8")
    (source,) = [
        body for kind, body in FENCE.findall(text) if kind == "python" and "@tuilab.workload" in body
    ]
    (tmp_path / "own.py").write_text(source)
    environment = {**os.environ, "TUILAB_DATA": str(tmp_path / "data"), "TF_CPP_MIN_LOG_LEVEL": "3"}
    words = [PYTHON, "-m", "tuilab", "run", "own.py:product", "--budget", "quick", "--set", "side=64"]
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
