"""The real program in a real terminal, with thousands of texts that mean harm: its bytes are text, colours, moves.

Presets by the hundred, a worker of which every word is hostile, a document, the history of all that.
"""

import contextlib
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hostile import scene
from tests.hostile.payloads import CLIPBOARD, HIDDEN, Supply, tokens_in
from tests.hostile.stream import faults, kinds
from tests.terminal.lab import environment
from tests.terminal.terminal import Terminal

pytestmark = pytest.mark.terminal
SIZE = (160, 300)
"""So tall that thousands of lines are shown in a few paints."""
PAGES = 21
PATIENCE_S, REST_S, IDLE_S = 20.0, 0.2, 1.2


class Sight:
    """The terminal, and the tokens that it has shown."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        self.tokens: set[str] = set()
        self._read, self._text = 0, ""

    @property
    def text(self) -> str:
        """The screen as text. The emulator's own reading fails on a wide character of which half is overdrawn."""
        terminal = self.terminal
        if self._read == len(terminal.sent):
            return self._text
        with terminal._lock:
            new = bytes(terminal.sent[self._read :])
            self._read = len(terminal.sent)
        terminal._stream.feed(new)
        buffer, (columns, lines) = terminal._screen.buffer, SIZE
        self._text = "\n".join(
            "".join(buffer[y][x].data for x in range(columns)).rstrip() for y in range(lines)
        )
        return self._text

    def see(self, words: str) -> None:
        """Wait until the words are on the screen."""
        self.terminal.until(lambda: words in self.text, 60, words)

    def press(self, keys: str) -> str:
        """Press keys, wait until the screen has changed and rests, and take note of what shows.

        A busy machine answers late, so that a rest counts only after a change; a key without effect costs IDLE_S.
        """
        before, begun = self.text, time.monotonic()
        self.terminal.press(keys)
        seen, changed, rests = before, False, time.monotonic()
        while time.monotonic() - begun < PATIENCE_S:
            time.sleep(0.05)
            text, now = self.text, time.monotonic()
            if text != seen:
                self.tokens |= tokens_in(text)
                seen, changed, rests = text, True, now
            if now - rests > (REST_S if changed else IDLE_S):
                break
        assert self.terminal.process.poll() is None, self.terminal.last_words
        self.tokens |= tokens_in(seen)
        return seen

    def page(self, key: str = "\x1b[6~") -> None:
        """Leaf through a table to its end."""
        shown = ""
        for _ in range(PAGES):
            text = self.press(key)
            if text == shown:
                return
            shown = text


@contextlib.contextmanager
def opened(home: Path, size: tuple[int, int] = SIZE, **told: int) -> Iterator[Terminal]:
    """The lab with hostile presets and a hostile worker."""
    command = [sys.executable, "-P", "-m", "tests.hostile.program", str(home / "presets"), json.dumps(told)]
    env = {**environment(home), "HOME": str(home), "COLORTERM": "truecolor"}
    terminal = Terminal(command, env, size, cwd=str(home))
    try:
        yield terminal
    finally:
        terminal.close()


@pytest.mark.timeout(400)  # a busy machine paints these tall screens slowly
@pytest.mark.parametrize(
    ("many", "presets", "least"), [(300, 40, 1_000), pytest.param(2_000, 250, 5_000, marks=pytest.mark.long)]
)
def test_no_escape_reaches_the_terminal(tmp_path, many, presets, least):
    """many: rows of the placement, and lines of the log. least: payloads that must have been seen."""
    supply = Supply()
    scene.presets(tmp_path / "presets", presets, supply)
    scene.document(tmp_path / "000_article.md", supply, pages=1 + many // 50)
    with opened(tmp_path, nodes=many, logs=many) as terminal:
        sight = Sight(terminal)
        sight.see("r measures")
        sight.press("p")
        for _ in range(2 * presets // 180 + 2):
            sight.press("\x1b[6~" * 24)
        sight.press("9")
        sight.press("r")
        sight.see("done, ")
        for view in "169d":
            sight.press(f"p{view}")
            if view == "9":
                sight.press("\x1b[6~")
                # From the presets by way of the filter to the table, which is where a page brings much.
                for _ in range(6):
                    before = len(sight.tokens)
                    sight.press("\t\x1b[H")
                    for _ in range(3):
                        sight.press("\x1b[6~")
                    if len(sight.tokens) > before + 100:
                        break
                sight.page()
        for page in "aRmHh":
            sight.press(page)
            sight.press("\x1b")
        sight.press("o")
        sight.press("000_article.md\r")
        sight.page()
        sight.press("\x1b")
        sight.press("y")
        terminal.press("q")
        assert terminal.ended(20) == 0
        sent = bytes(terminal.sent)
        # After the lab, the shell's screen has one line of where the run is kept.
        found = faults(sent.removesuffix(b"\r\n"), SIZE, clipboard=True)
    assert not found, found[:5]
    assert HIDDEN.encode() not in sent.split(b"\x1b[?1049l")[-1]
    assert CLIPBOARD.encode() not in b"".join(part[:200] for part in sent.split(b"\x1b]52;")[1:])
    assert set(kinds(sent)) <= {"m", "H", "n", "?h", "?l", "?$p", ">u", "<u"}
    print(len(sight.tokens), "payloads shown,", len(sent), "bytes,", dict(kinds(sent)))
    assert len(sight.tokens) >= least, len(sight.tokens)
