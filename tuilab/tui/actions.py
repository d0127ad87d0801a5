"""Declares every action of the lab once: its keys, its wording, and its method.

The bindings, the footer, the command palette, the help and the README's table of keys use these declarations.
"""

from collections.abc import Iterable
from typing import NamedTuple


class Action(NamedTuple):
    """An action of the lab.

    id: its name in the keymap file. keys: default keys, separated by commas. name: the `<name>` in the method
    `action_<name>` of the lab's screen or of the app. label: text in the footer. help: a sentence for the
    help page. line: position in the footer; 0 if the footer does not show the action. view: class of the view
    that the action opens, as `module:name`; it is imported when needed.
    """

    id: str
    keys: str
    name: str
    label: str
    help: str
    line: int = 0
    group: str = ""
    view: str = ""

    @property
    def tab(self) -> str:
        return self.label.removesuffix(" view").capitalize()


def _view(view: str, keys: str, label: str, help: str, line: int = 0, id: str = "") -> Action:
    key, view = view.partition(":")[0], f"tuilab.tui.views.{view}"
    return Action(id or f"view-{key}", keys, f"view('{key}')", label, help, line, view=view)


MEASURE = (
    Action("run", "r", "run", "run", "Measure these settings, or make their run more precise.", 1),
    Action("stop", "x", "stop", "stop", "Stop the run and keep its data.", 2),
    Action("sweep", "s", "sweep", "sweep", "Measure over a range of sizes; find the crossover.", 3),
    Action("budget", "b", "budget", "budget", "How long to measure: quick, standard, publish."),
    Action("rerun", "l", "toggle_rerun", "live sliders", "Measure again when a slider stops moving."),
    Action("undo", "u", "undo", "undo", "Undo the last change of a parameter."),
    Action("redo", "U", "redo", "redo", "Redo the last change that was undone."),
    Action("original", "z", "original", "reset", "Set every parameter to the document's value."),
)
LOOK = (
    _view("live:Live", "1", "live", "Samples of each arm as they arrive."),
    _view("compare:Compare", "c,2", "compare", "Medians side by side, with ratios.", 6, id="compare"),
    _view("sweep:SweepView", "3", "sweep view", "Time against size, with the crossover."),
    _view("phases:PhasesView", "4", "phases", "Where a call's time goes."),
    _view("timeline:TimelineView", "5", "timeline", "Ops of a profiled call over time."),
    _view("placement:PlacementView", "6", "placement", "Where each op ran, and why."),
    _view("device:DeviceView", "7", "device", "Load, memory and clocks right now."),
    _view(
        "verdict:VerdictView",
        "d,8",
        "verdict",
        "Claim, verdict, and mistakes in the document's code.",
        7,
        id="document",
    ),
    _view("log:LogView", "9", "log", "Messages from TensorFlow and the lab."),
    _view("roofline:RooflineView", "0,w", "roofline", "Each arm compared with the roofline."),
    Action("next-view", "right_square_bracket", "step_view(1)", "next view", "The view to the right."),
    Action("previous-view", "left_square_bracket", "step_view(-1)", "previous view", "The view to the left."),
    Action(
        "answer", "A", "page('answer')", "full answer", "The full answer, its certainty and every caveat."
    ),
    Action("arms", "a", "arms", "arms", "Choose the arms and ghosts to draw."),
    Action(
        "maximize",
        "plus",
        "maximize_panel",
        "maximise",
        "Maximize or restore this panel.",
    ),
    Action("fact-check", "F", "fact_check", "fact-check", "Measure every claim of this preset's document."),
    Action("machines", "m", "page('machines')", "machines", "Compare every machine in the history."),
    Action("why", "g", "page('why')", "why this device", "Explain why a GPU is used or not.", 8),
)
VIEWS = {action.name.split("'")[1]: action for action in LOOK if action.view}
"""The actions that open a view, by name of the view, in the order of the tabs."""
GO = (
    Action("hosts", "H", "hosts", "hosts", "Measure on another machine or in another environment."),
    Action("presets", "p", "presets", "presets", "Go to the presets; opens a drawer on a narrow screen.", 5),
    Action("jump", "f", "jump", "jump", "Show a letter on every panel; press a letter to go to its panel."),
    Action("controls", "i", "controls", "controls", "Go to the sliders."),
    Action("demo", "D", "demo", "demo", "Guess whether a claim holds here, then measure it.", 11),
    Action("open", "o", "open", "open", "Open your program, model or function, an article or a preset.", 10),
    Action(
        "history", "h", "history", "history", "Earlier runs: find, compare, tag, pin, delete, replay.", 12
    ),
    Action("watched", "W", "watched", "your program", "Return to the watched program."),
    Action("replay", "R", "replay", "replay", "Replay a recorded run."),
)
REPLAY = (
    Action("replay-pause", "space", "replay('pause')", "play, pause", "Pause or resume a replay."),
    Action("replay-back", "comma", "replay('step', -1)", "step back", "Go back one round of a replay."),
    Action("replay-on", "full_stop", "replay('step', 1)", "step", "Go forward one round of a replay."),
    Action("replay-slower", "less_than_sign", "replay('faster', -1)", "slower", "Halve the replay speed."),
    Action("replay-faster", "greater_than_sign", "replay('faster', 1)", "faster", "Double the replay speed."),
)
KEEP = (
    Action("export", "e", "export", "export", "Save this view and its run to a file.", 9),
    Action("copy", "y", "copy", "copy as command", "Copy the tuilab command for this view."),
)
LAB = (
    Action("down", "j", "app.simulate_key('down')", "down", "Same as the down arrow: next row or slider."),
    Action("up", "k", "app.simulate_key('up')", "up", "Same as the up arrow: previous row or slider."),
    Action("theme", "t", "app.toggle_dark", "light or dark", "Switch between the light and the dark theme."),
    Action("themes", "T", "app.change_theme", "themes", "Choose a theme; the choice is remembered."),
    Action("help", "question_mark,f1", "app.help", "help", "Explain this panel and its keys.", 4),
    Action("keys", "K", "keys", "all keys", "Show all keys on one page."),
    Action("quit", "q,ctrl+q", "app.quit", "leave", "Stop the worker and quit."),
)
USERS_WORDS = {
    "run": "measure start go benchmark time resume continue repeat again",
    "stop": "cancel abort interrupt end",
    "sweep": "range sizes scaling batch curve",
    "budget": "longer shorter precision seconds rounds",
    "original": "default defaults document values",
    "compare": "ratio speedup table faster slower",
    "view-phases": "why slow bottleneck overhead dispatch profile",
    "view-timeline": "why slow profile trace kernels",
    "view-placement": "device ops runs",
    "view-device": "monitor nvidia-smi threads cores temperature",
    "document": "claim article advice",
    "view-log": "errors warnings output",
    "view-roofline": "limit peak flops bandwidth bound",
    "answer": "result why slow advice doubt",
    "arms": "baseline ghost hide show legend xla eager graph",
    "maximize": "fullscreen zoom",
    "fact-check": "verify",
    "why": "why slow missing cuda driver",
    "hosts": "remote ssh venv python threads thread variable server",
    "controls": "parameter batch dtype float16 float64 xla eager graph",
    "history": "baseline saved save before runs resume",
    "export": "save html report share screenshot picture svg csv json markdown write",
    "copy": "clipboard line shell script cli",
    "demo": "tour tutorial introduction colleague",
    "open": "load import keras train script notebook",
    "replay": "recording recorded",
    "help": "manual documentation explain",
    "keys": "shortcuts bindings keyboard",
    "quit": "exit close",
}
"""More words by which a user may search for an action in the palette, by action id."""
GROUPS = {"Measure": MEASURE, "Look": LOOK, "Go": GO, "Replay": REPLAY, "Keep": KEEP, "Lab": LAB}
ACTIONS = tuple(action._replace(group=group) for group, actions in GROUPS.items() for action in actions)


def by_line(actions: Iterable[Action]) -> list[Action]:
    """Return the actions in the order of the footer. Actions that the footer does not show come last."""
    return sorted(actions, key=lambda action: action.line or 99)
