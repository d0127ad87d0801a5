"""Reports and commands write only plain text."""

import json
import os
import re
import sys
import time
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.calling import here
from tests.data_folder import knowing
from tests.hostile import scene
from tests.hostile.payloads import HUGE, KINDS, SURROGATES, Supply, tokens_in
from tests.hostile.runner import through_the_door
from tests.hostile.stream import faults
from tests.hostile.strips import faults_of
from tests.terminal.lab import environment
from tests.terminal.terminal import Terminal
from tuilab import catalogue
from tuilab.analysis.summary import summarise
from tuilab.history import recording
from tuilab.lab.settings import Settings
from tuilab.model.errors import InputError
from tuilab.model.requests import Measure
from tuilab.model.run import RunState
from tuilab.model.sanitize import sanitize_block, sanitize_line
from tuilab.model.scenario import BUDGET
from tuilab.report import html, markdown, text


def measured(folder: Path, supply: Supply) -> tuple[list[object], RunState, object]:
    """Return the events, the state and the preset of a run of a hostile preset on a hostile machine."""
    scene.presets(folder / "presets", 1, supply)
    preset = catalogue.load(folder / "presets").presets[0]
    settings = Settings.of(preset)
    here = scene.machine(supply)
    request = Measure(
        id="run1", scenario=settings.scenario, arms=settings.arms_on(here), budget=BUDGET["quick"], preset=preset.name
    )  # fmt: skip
    told = [
        through_the_door(event)
        for batch in scene.batches(request, here, supply, nodes=400, logs=5)
        for event in batch
    ]
    state = RunState()
    for event in told:
        state.apply(event)
    return told, state, preset


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add(tag)
        self.attributes |= {name for name, _ in attrs}


def test_reports_contain_only_text(tmp_path):
    supply = Supply()
    _, state, preset = measured(tmp_path, supply)
    result = summarise(state, preset.claims)
    page, document, plain = html.page(result, state), markdown.document(result), text.table(result)
    for report in (page, document, plain):
        assert not [fault for line in report.split("\n") if (fault := faults_of(line))]
        assert tokens_in(report)
    tags = Tags()
    tags.feed(page)
    assert not tags.found & {"script", "img", "a", "iframe", "object", "link", "form", "input"}
    assert not {name for name in tags.attributes if name.startswith("on") or name in ("href", "src")}
    assert len(tokens_in(page)) > 1_000
    for line in document.split("\n"):
        # each line must start with the report's own markup
        assert not line or re.match(r"[|#\-]|\S", line), line
        assert not re.search(r"(?<!\\)<|(?<!\\)\[", line.replace("---|", "")), line


def test_each_cell_of_a_report_is_one_line(tmp_path):
    assert "\n" not in markdown.escape("x\n# y\r\n| z |")


@pytest.mark.parametrize("name", HUGE)
def test_ten_million_characters_cost_no_more_than_a_few(name):
    assert len(sanitize_line(HUGE[name])) <= 2_001 and not faults_of(sanitize_line(HUGE[name]))
    assert len(sanitize_block(HUGE[name], 5_000)) <= 20_001


@pytest.mark.parametrize("name", SURROGATES)
def test_characters_without_an_encoding_are_left_out(name):
    for function in (sanitize_line, sanitize_block):
        function(SURROGATES[name]).encode("utf-8")


@pytest.mark.parametrize("kind", KINDS)
def test_a_message_is_clean_wherever_its_parts_come_from(kind):
    supply = Supply({kind: KINDS[kind]})
    message = str(InputError(supply.text(), supply.text(), supply.text()))
    assert not faults_of(message.replace("\n", "")), message


EACH = """
import contextlib, json, sys
from tuilab.cli.main import main
for words in json.loads(sys.argv[1]):
    sys.argv[1:] = words
    with contextlib.suppress(SystemExit):
        main()
"""


@pytest.mark.terminal
def test_commands_print_only_text(tmp_path):
    """Runs each command that shows saved data, in a terminal."""
    supply = Supply()
    told, _, _ = measured(tmp_path, supply)
    recording.write(tmp_path / "run.jsonl", told)
    scene.presets(tmp_path / "presets", 3, supply)
    scene.document(tmp_path / "000_article.md", supply, pages=3)
    scene.document(tmp_path / "001_\x1b]0;x\x07\u202e[bold].md", supply, pages=1)
    env = {**environment(tmp_path), "TUILAB_DATA": knowing(tmp_path / "data"), "HOME": str(tmp_path)}
    config = tmp_path / "tuilab" / "presets"
    config.mkdir(parents=True)
    for file in (tmp_path / "presets").glob("*.toml"):
        (config / file.name).write_bytes(file.read_bytes())
    names = sorted(os.listdir(tmp_path))
    commands = [
        ["history", "import", "run.jsonl"], ["history"], ["history", "--json"], ["presets"],
        ["presets", "--json"], ["export", "run1"], ["export", "run1", "--format", "json"], ["hosts"],
        *(["check", name] for name in names if name.endswith(".md")), ["check", supply.text().replace("\0", "")],
        ["run", supply.text().replace("\0", "")], ["history", "compare", "run1", "run1"],
    ]  # fmt: skip
    terminal = Terminal(
        [sys.executable, "-P", "-c", EACH, json.dumps(commands)], env, (120, 40), cwd=str(tmp_path)
    )
    try:
        terminal.ended(90)
        time.sleep(0.2)
        sent = bytes(terminal.sent)
    finally:
        terminal.close()
    found = faults(sent, (120, 40))
    assert not found, found[:5]
    assert len(tokens_in(sent.decode())) > 100
    assert b"Traceback" not in sent and b"Usage:" not in sent


def test_the_words_of_a_command_that_fails_are_clean():
    """Output that does not go to a terminal must also be clean, because it may go to a log."""
    done = here("check", "\x1b]0;x\x07\u202e\x9b31m.md")
    assert done.returncode == 2
    assert not faults_of(done.stderr.rstrip("\n"))
