"""The person's keymap file holds in the lab and on its pages."""

from tests.tui.lab import lab, opened, press, text
from tuilab.tui.app import known_ids


def test_every_action_and_widget_is_known():
    import tuilab.tui.panels.controls
    import tuilab.tui.views.filtered  # noqa: F401

    ids = known_ids()
    assert {"run", "slider.less", "switches.next", "table.filter", "presets.open"} <= ids


async def test_the_lab_and_its_pages_obey_it(tmp_path):
    (tmp_path / "keymap.toml").write_text('[keys]\nrun = "m"\nstpo = "z"\n"history.close" = "z"\n')
    app = lab(tmp_path)
    async with opened(app, (200, 40)) as pilot:
        said = [line.text for line in app.screen.lab.state.log]
        assert any("stpo: no such action" in text for text in said)
        assert not any("history.close" in text for text in said)
        await press(pilot, app, "r")
        assert app.runner.measured == [] and "m run" in text(app)
        await press(pilot, app, "h q")
        assert "No run has been kept yet" in text(app)
        await press(pilot, app, "z")
        assert "No run has been kept yet" not in text(app)
        await press(pilot, app, "m")
        assert len(app.runner.measured) == 1
