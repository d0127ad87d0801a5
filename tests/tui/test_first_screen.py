"""The first screen shows what was measured, where, the result, its precision, and what to do next."""

import re

import pytest

from tests.tui.lab import lab, opened, press, rest, text
from tests.tui.scripted import CPU_MACHINE, GPU_MACHINE

SIZES = ((80, 24), (120, 40), (200, 60))


def words(app) -> str:
    first, *rest = text(app).split("\n")
    left = app.screen.query_one("#work").region.x
    return " ".join(re.sub(r"[│╭╮╰╯─]+", " ", " ".join([first, *(line[left:] for line in rest)])).split())


async def at_each_size(pilot, app) -> list[str]:
    lines = []
    for size in SIZES:
        await pilot.resize_terminal(*size)
        await rest(pilot, app)
        lines.append(words(app))
    return lines


@pytest.mark.parametrize("machine", [CPU_MACHINE, GPU_MACHINE], ids=["cpu", "gpu"])
async def test_the_first_screen_answers_five_questions(tmp_path, machine):
    app = lab(tmp_path, machine=machine, rounds=24)
    gpu = bool(machine.gpus)
    fastest = r"CPU graph is fastest: [\d.]+ µs" if gpu else r"One graph is [\d.]+× faster"
    async with opened(app, SIZES[0]) as pilot:
        before = await at_each_size(pilot, app)
        await press(pilot, app, "enter")
        after = await at_each_size(pilot, app)
    for shown in (*before, *after):
        assert "Small STFT: 256 samples" in shown, "what is measured"
        assert ("NVIDIA H200" if gpu else "no GPU") in shown, "on what"
    for shown in before:
        assert "Why isn't this using my GPU" in shown and "next: r measures" in shown
        does = (
            "Enter times CPU and GPU" if gpu else "Enter measures the CPU (no GPU is visible; g explains why)"
        )
        assert (
            does in shown and ("with its uncertainty" if gpu else "how long a call takes, and why") in shown
        )
    for shown in after:
        assert re.search(fastest, shown), "with what result"
        assert re.search(r"done, 24 rounds · ± [\d.]+%", shown), "how sure"
        assert re.search(r"µs \[\d+ \d+\]", shown), "how sure"
        assert re.search(r"next: .*s finds the crossover, [gd] ", shown), "what next"


@pytest.mark.parametrize("size", SIZES[:2], ids=lambda size: f"{size[0]}x{size[1]}")
async def test_the_suggested_next_step_follows_what_is_known(tmp_path, size):
    app = lab(tmp_path, hold=3)
    async with opened(app, size) as pilot:
        await press(pilot, app, "r")
        assert "next: x stops" in text(app)
        assert size[0] < 120 or "─" * 8 in app.screen.header.render_line(0).text, "the progress bar is shown"
        app.runner.let_go()
        await press(pilot, app, "s")
        assert "next: " in text(app) and "enter on the curve (3) measures a size" in text(app)
        await press(pilot, app, "l i right")
        assert "next: r measures" in text(app)


async def test_the_title_has_the_current_sizes(tmp_path):
    app = lab(tmp_path, rerun=False)
    async with opened(app) as pilot:
        assert "Small STFT: 256 samples" in app.screen.header.render_line(0).text
        await press(pilot, app, "i enter 6 4 k enter")
        title = app.screen.header.render_line(0).text
        assert "Small STFT: 65,536 samples *" in title and "256" not in title
        await press(pilot, app, "down right")
        assert "65,536 samples, batch 2 *" in app.screen.header.render_line(0).text
