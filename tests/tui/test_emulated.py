"""With an emulated GPU, each line of the screen that calls a claim confirmed or refuted contains the word
EMULATED.
"""

import re
from pathlib import Path

import msgspec
import pytest

from tests.tui.lab import lab, opened, press, rest, text, until
from tests.tui.scripted import GPU_MACHINE
from tuilab.model.verdicts import EMULATED
from tuilab.tui.panels.presets import Presets

CPU, GPU = GPU_MACHINE.devices
SOFT = msgspec.structs.replace(
    GPU_MACHINE, devices=(CPU, msgspec.structs.replace(GPU, description=f"{EMULATED} for tests"))
)
WORDS = re.compile(r"\b(confirmed|refuted)\b", re.IGNORECASE)


def bare(shown: str) -> list[str]:
    return [line for line in shown.splitlines() if WORDS.search(line) and EMULATED not in line]


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_every_verdict_line_contains_the_word(tmp_path: Path, size):
    app = lab(tmp_path, machine=SOFT)
    async with opened(app, size) as pilot:
        seen = 0
        for keys in ("r", "8", "A", "escape p", "escape F"):
            await press(pilot, app, keys)
            if keys.endswith("F"):
                await until(pilot, lambda: "5 of 5 measured" in text(app))
                await rest(pilot, app)
            shown = text(app)
            seen += bool(WORDS.search(shown))
            # the summary line of a fact check only counts verdicts
            assert not [line for line in bare(shown) if "measured:" not in line], (keys, bare(shown))
            if keys.endswith("p"):
                assert f"▸✓ {EMULATED} 1 Small" in shown
        assert seen >= 4


async def test_the_history_and_a_replay_contain_the_word_on_a_real_machine(tmp_path: Path):
    app = lab(tmp_path, machine=SOFT)
    async with opened(app, (80, 24)) as pilot:
        await press(pilot, app, "r")
        await until(pilot, lambda: "done" in text(app))
        await rest(pilot, app)
    app = lab(tmp_path)
    async with opened(app, (80, 24)) as pilot:
        await press(pilot, app, "p")
        assert EMULATED not in text(app) and "✓" not in text(app), "verdicts are not this machine's"
        await press(pilot, app, "escape h")
        await until(pilot, lambda: EMULATED in text(app))
        await press(pilot, app, "enter")
        await until(pilot, lambda: f"{EMULATED} replay" in text(app))


async def test_a_preset_without_gpu_results_is_not_marked_as_emulated(tmp_path: Path):
    app = lab(tmp_path, machine=SOFT)
    async with opened(app, (120, 40)) as pilot:
        await press(pilot, app, "r")
        presets = app.screen.query_one(Presets)
        presets.show("x", {"stft-small": "confirmed"}, emulated=())
        assert EMULATED not in "".join(str(prompt) for prompt in presets._prompts)
