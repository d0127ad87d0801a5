"""With thousands of hostile texts, the real program sends only text, colors and cursor moves to a terminal.

The texts are in hundreds of presets, in all messages of a worker, in a document, and in a history.
"""

import contextlib
import json
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hostile import scene
from tests.hostile.measuring import WORKERS
from tests.hostile.payloads import CLIPBOARD, HIDDEN, KINDS, Supply, tokens_in
from tests.hostile.stream import CSI, faults, kinds
from tests.terminal.lab import environment
from tests.terminal.terminal import Terminal

pytestmark = pytest.mark.terminal
COLUMNS, PAGES = 160, 21
PATIENCE_S, REST_S, IDLE_S = 20.0, 0.2, 1.2
BEGUN = re.compile(rb"\x1b[^a-zA-Z]*$")


class Sight:
    """The terminal's text without control sequences, and the visible tokens.

    Does not emulate the screen, because that would take longer than painting it.
    """

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        self.tokens: set[str] = set()
        self._at = 0
        self._shown = ""

    def news(self) -> str:
        """Return the output since the last call. Each cursor move starts a new line."""
        with self.terminal._lock:
            new = BEGUN.sub(b"", bytes(self.terminal.sent[self._at :]))
        self._at += len(new)
        text = CSI.sub(lambda m: "" if m[4] == "m" else "\n", new.decode("utf-8", "replace"))
        self.tokens |= tokens_in(text)
        self._shown += text
        return text

    def see(self, words: str) -> None:
        """Wait until the output since the last key press contains the words."""

        def shown() -> bool:
            self.news()
            return words in self._shown

        self.terminal.until(shown, 60, words)

    def press(self, keys: str) -> bool:
        """Press keys and wait until the screen is idle. Returns True if the screen changed.

        A busy machine responds late, so the wait ends only after a change, or after IDLE_S seconds if the key
        has no effect.
        """
        self.news()
        self._shown = ""
        begun = rests = time.monotonic()
        changed = False
        self.terminal.press(keys)
        while time.monotonic() - begun < PATIENCE_S:
            time.sleep(0.05)
            if self.news().strip():
                changed, rests = True, time.monotonic()
            elif time.monotonic() - rests > (REST_S if changed else IDLE_S):
                break
        assert self.terminal.process.poll() is None, self.terminal.last_words
        return changed

    def page(self, key: str = "\x1b[6~") -> None:
        for _ in range(PAGES):
            if not self.press(key):
                return


@contextlib.contextmanager
def opened(home: Path, size: tuple[int, int], **told: int) -> Iterator[Terminal]:
    command = [sys.executable, "-P", "-m", "tests.hostile.program", str(home / "presets"), json.dumps(told)]
    env = {**environment(home), "HOME": str(home), "COLORTERM": "truecolor"}
    terminal = Terminal(command, env, size, cwd=str(home))
    try:
        yield terminal
    finally:
        terminal.close()


@pytest.mark.timeout(400)  # a busy machine paints these tall screens slowly
@pytest.mark.parametrize(
    ("many", "presets", "least", "lines"),
    [(120, 30, 450, 150), pytest.param(2_000, 250, 5_000, 300, marks=pytest.mark.long)],
)
def test_no_escape_reaches_the_terminal(tmp_path, many, presets, least, lines):
    """The output contains only known sequences.

    many: number of placement rows and of log lines. least: minimum number of payloads that must become
    visible, some of each kind. lines: height of the screen; a tall screen shows hundreds of payloads at once.
    """
    size = (COLUMNS, lines)
    supply = Supply()
    scene.presets(tmp_path / "presets", presets, supply)
    scene.document(tmp_path / "000_article.md", supply, pages=1 + many // 50)
    with opened(tmp_path, size, nodes=many, logs=many) as terminal:
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
            if view == "9" and many > lines:
                sight.press("\x1b[6~")
                # Go from the presets through the filter to the table, which shows many payloads at once.
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
        sight.see("findings")  # a page that opens later would get the next key
        sight.page()
        sight.press("\x1b")
        sight.press("y")
        terminal.press("q")
        assert terminal.ended() == 0
        sent = bytes(terminal.sent)
        # after the lab's exit, a line says where the run is saved
        found = faults(sent.removesuffix(b"\r\n"), size, clipboard=True)
    assert not found, found[:5]
    assert HIDDEN.encode() not in sent.split(b"\x1b[?1049l")[-1]
    assert CLIPBOARD.encode() not in b"".join(part[:200] for part in sent.split(b"\x1b]52;")[1:])
    assert set(kinds(sent)) <= {"m", "H", "n", "?h", "?l", "?$p", ">u", "<u"}
    print(len(sight.tokens), "payloads shown,", len(sent), "bytes,", dict(kinds(sent)))
    assert len(sight.tokens) >= least, len(sight.tokens)
    kinds_of = list(KINDS)
    shown = {kinds_of[(int(token[1:]) % WORKERS) % len(kinds_of)] for token in sight.tokens}
    assert shown == KINDS.keys(), KINDS.keys() - shown
