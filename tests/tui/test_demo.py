"""Guess first, then see."""

import msgspec

from tests.tui.data import arm_results, run_result
from tests.tui.lab import lab, opened, press, rest, text
from tests.tui.scripted import CPU_MACHINE, GPU_MACHINE
from tuilab.lab import demo as d
from tuilab.lab.answer import opening
from tuilab.model.arms import Arm
from tuilab.model.preset import Preset, Source
from tuilab.tui.panels.demo_bar import DemoBar

ARMS = [Arm(device, mode) for device in ("CPU:0", "GPU:0") for mode in ("eager", "graph")]


def test_the_choices_are_what_tells_the_arms_of_this_machine_apart():
    assert list(d.choices(ARMS, GPU_MACHINE)) == ["CPU eager", "CPU graph", "GPU eager", "GPU graph"]
    assert list(d.choices(ARMS, CPU_MACHINE)) == ["CPU eager", "CPU graph"]
    variants = [Arm("CPU:0", "graph", variant=v) for v in ("serial", "parallel")]
    assert list(d.choices(variants, CPU_MACHINE)) == ["CPU serial", "CPU parallel"]
    dtypes = [Arm("CPU:0", "graph", dtype=t) for t in ("float32", "float64")]
    assert list(d.choices(dtypes, CPU_MACHINE)) == ["CPU float32", "CPU float64"]


def test_the_tour_takes_one_example_a_document():
    presets = [
        Preset(title=n, workload="stft", name=n, source=Source(document, 1))
        for n, document in (("a", "000"), ("b", "000"), ("c", "001"))
    ]
    assert [p.name for p in d.tour(presets)] == ["a", "c"]


def test_the_clock_goes_on_unless_paused_or_measuring():
    demo = d.Demo([Preset(title="t", workload="stft")], left_s=2)
    assert not demo.tick() and demo.tick()
    demo.paused = True
    assert not demo.tick()
    demo.paused, demo.stage = False, "measure"
    assert not demo.tick()


def test_the_opening_of_a_text():
    assert opening("One frame. On so\nlittle data.") == "One frame."
    assert opening("One frame. On so\nlittle data. And more.", 30) == "One frame. On so little data."
    assert opening("No stop") == "No stop"


async def test_guess_see_next_back_leave(tmp_path):
    app = lab(tmp_path)
    async with opened(app) as pilot:
        await press(pilot, app, ["D"])
        assert "Demo 1 of 2" in text(app) and "2 CPU graph" in text(app)
        assert app.runner.measured == []
        await press(pilot, app, ["2"])
        shown = text(app)
        assert "You said CPU graph. Fastest: CPU graph" in shown and "Right; 1 of 1." in shown
        assert app.runner.measured[0].budget.name == "quick"
        await press(pilot, app, ["n"])
        assert "Demo 2 of 2" in text(app)
        await press(pilot, app, ["b"])
        assert "Demo 1 of 2" in text(app)
        await press(pilot, app, ["escape"])
        assert not app.screen.query(DemoBar) and "Controls" in text(app)


async def test_it_can_be_paused_and_stepped_without_a_guess(tmp_path):
    app = lab(tmp_path, machine=CPU_MACHINE)
    async with opened(app, (80, 24)) as pilot:
        await press(pilot, app, ["D", "space"])
        assert "paused" in text(app)
        await press(pilot, app, ["n"])
        assert "Fastest: CPU" in text(app) and "You said" not in text(app)


async def test_the_choices_are_those_of_the_machine_as_soon_as_it_is_known(tmp_path):
    app = lab(tmp_path, machine=CPU_MACHINE, warm=False)
    async with opened(app) as pilot:
        await press(pilot, app, ["D"])
        assert "4 GPU eager" in text(app)
        app.runner.ready()
        await rest(pilot, app)
        assert "GPU eager" not in text(app).split("Answer")[0]


def test_a_tie_is_right():
    demo = d.Demo([Preset(title="t", workload="stft")], groups={"CPU eager": ["a"], "CPU graph": ["b"]})
    arms = arm_results()[:2]
    fast, slow = (
        msgspec.structs.replace(arms[0], id="a", median_s=1e-3, ci95_s=(0.9e-3, 1.1e-3)),
        msgspec.structs.replace(arms[1], id="b", median_s=1.2e-3, ci95_s=(1.05e-3, 1.3e-3)),
    )
    result = msgspec.structs.replace(run_result(), arms=(fast, slow))
    demo.choose(2)
    demo.tell(result)
    assert demo.winners == ["CPU eager", "CPU graph"] and demo.right == 1
    assert "CPU graph within the noise" in d.outcome(demo)


async def test_leaving_while_it_measures_leaves_the_run(tmp_path):
    app = lab(tmp_path, hold=3)
    async with opened(app) as pilot:
        await press(pilot, app, ["D", "1", "escape"])
        assert app.runner.cancelled == []
        app.runner.let_go()
        await rest(pilot, app)
        assert "done, 8 rounds" in text(app)
