"""One surface for slider and curve, and panels that take the whole screen."""

from tests.tui.lab import lab, opened, press, rest, text
from tuilab.analysis.words import size
from tuilab.tui.panels.presets import PresetsPanel
from tuilab.tui.panels.views import Views
from tuilab.tui.widgets.plot import Plot
from tuilab.tui.widgets.slider import Slider


async def test_going_along_the_curve_moves_the_slider_the_sentence_and_the_frame(tmp_path):
    app = lab(tmp_path, rerun=False)
    async with opened(app) as pilot:
        await press(pilot, app, "s")
        views = app.screen.query_one(Views)
        plot = views.view.query_one(Plot)
        plot.focus()
        samples = next(s for s in app.screen.query(Slider) if s.parameter.name == "samples")
        await press(pilot, app, "left home")
        assert samples.value == 256 and "At 256 samples" in text(app)
        assert views.has_class("-cpu") and not views.has_class("-gpu")
        await press(pilot, app, "end")
        assert samples.value > 1_000_000 and f"At {size(samples.value)} samples" in text(app)
        assert views.has_class("-gpu") and not views.has_class("-cpu")
        before = len(app.runner.measured)
        await press(pilot, app, "enter")
        assert len(app.runner.measured) == before + 1
        assert app.runner.measured[-1].scenario.parameters["samples"] == samples.value


async def test_any_panel_takes_the_whole_screen_and_gives_it_back(tmp_path):
    app = lab(tmp_path)
    async with opened(app, (80, 24)) as pilot:
        views = app.screen.query_one(Views)
        await press(pilot, app, "r")
        views.view.take_focus()
        small = views.size.height
        await press(pilot, app, "plus")
        assert app.screen.maximized is views and views.size.height > small + 5
        assert "CPU graph" in text(app)
        await press(pilot, app, "plus")
        assert app.screen.maximized is None and views.size.height == small
        await pilot.resize_terminal(120, 40)
        await rest(pilot, app)
        assert views.size.height >= 18 and views.outer_size.height >= 20, "the picture has half of the height"
        await press(pilot, app, "p plus")
        assert isinstance(app.screen.maximized, PresetsPanel)
        await press(pilot, app, "escape")
        assert app.screen.maximized is None
