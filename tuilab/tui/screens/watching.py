"""The screen of a watched program."""

import gc
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.events import Key
from textual.message import Message
from textual.reactive import Reactive
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import ContentSwitcher, Static, Tab, Tabs

from tuilab.analysis.words import capitalized, percent
from tuilab.lab.offers import Offer
from tuilab.lab.trial import attempt, can_try, refusal
from tuilab.lab.watch import export
from tuilab.model.program import (
    Bottleneck,
    Caught,
    FunctionRow,
    Load,
    OpRow,
    Page,
    ProcessRow,
    Stage,
    StepPart,
)
from tuilab.model.quantity import seconds
from tuilab.presentation import program as says
from tuilab.program.gains import at_most
from tuilab.program.page import slowest
from tuilab.program.source import place
from tuilab.report.program import FORMATS, figures, measured, short_command, watching_cost
from tuilab.tui.keys import keys_here, spoken, unbound
from tuilab.tui.panels.header import Header
from tuilab.tui.panels.key_bar import KeyBar
from tuilab.tui.screens import modal
from tuilab.tui.screens.menu import MenuScreen
from tuilab.tui.screens.modal import framed, retitle
from tuilab.tui.screens.small import HEIGHTS, WIDTHS, Small
from tuilab.tui.widgets.answer import AnswerPanel
from tuilab.tui.widgets.line_widget import LineWidget
from tuilab.tui.widgets.look import BAD, MUTED, TEXT, Line, Mark, TextStyle, gauge
from tuilab.tui.widgets.plot import Plot
from tuilab.tui.widgets.table import Column, Table
from tuilab.tui.widgets.wording import clip, fit

if TYPE_CHECKING:
    from textual.notifications import SeverityLevel

    from tuilab.lab.shown_program import ShownProgram

TITLES = {
    "steps": "Steps",
    "parts": "Parts",
    "ops": "Ops",
    "functions": "Functions",
    "input": "Input",
    "notes": "Notes",
    "output": "Output",
    "processes": "Processes",
    "account": "Account",
}
MARK = {"step": Mark("h2", "•")}
TRIAL = "trial"
DRAWN_S = 0.1
"""Minimum time between two paints."""
GO_ON, STOP = "on", "stop"
LEAVING = (
    Offer(GO_ON, "let the program continue", "in this terminal; the page is printed when it ends"),
    Offer(STOP, "stop the program", "like Ctrl-C; its last output appears in this terminal"),
)


class ProgramHeader(Header):
    def show(self, page: Page, *, running: bool) -> None:
        now = says.status(page, running=running)
        self._title, self._tone = short_command(page), now.tone
        self._machine = [
            word for word in (page.host, f"TensorFlow {page.tensorflow}" * bool(page.tensorflow)) if word
        ]
        self._states = [spoken(self, now.text + (" · {watch.stop} stops" if now.stop else ""))]
        self.repaint()


@dataclass
class Trial:
    """A trial in progress. captured: True once the step is captured and its measurement has begun."""

    finding: Bottleneck
    captured: bool = False

    @property
    def text(self) -> str:
        return says.trying(self.finding, captured=self.captured)


class About(LineWidget):
    DEFAULT_CSS = "About { height: 3; padding: 0 1; }"
    finding: Bottleneck | None = None
    trial = ""

    def show(self, finding: Bottleneck | None, trial: str = "") -> None:
        if (finding, trial) != (self.finding, self.trial):
            self.finding, self.trial = finding, trial
            self.repaint()

    def paint(self, width: int, height: int) -> Sequence[Line]:
        if self.finding is None:
            return []
        said, change = (spoken(self, text) for text in says.about(self.finding))
        # The advised change gets its lines before the finding, because the table already shows the finding.
        if self.trial:
            change = f"{spoken(self, self.trial)}. {change}"
        changes = clip(change, width, max(1, height - 1))
        lines = clip(said, width, max(1, height - len(changes)))
        return [*(((line, MUTED),) for line in lines), *(((line, TEXT),) for line in changes)]


def bars(rows: Sequence[tuple[str, float, float]], width: int, most: int) -> list[Line]:
    """Return a line with a bar for each name, its seconds and its share. most: maximum width of the names."""
    name = min(max(len(words) for words, _, _ in rows), most)
    return [
        (
            (f" {fit(words, name)} {percent(share):>6} ", TEXT),
            (f"{seconds(spent):>8} ", MUTED),
            *gauge(share, max(0, width - name - 19), TextStyle("h2")),
        )
        for words, spent, share in rows
    ]


class Parts(LineWidget):
    DEFAULT_CSS = "Parts { height: 1fr; width: 1fr; }"
    parts: tuple[StepPart, ...] = ()
    loads: tuple[Load, ...] = ()

    def show(self, page: Page, empty: str) -> None:
        self.parts, self.loads, self.empty = page.parts, page.loads, empty
        self.repaint()

    def paint(self, width: int, height: int) -> Sequence[Line]:
        beside = [
            ((f" {load.device:<8}", TEXT), (fit(", ".join(figures(load)), width - 9), MUTED))
            for load in self.loads
        ]
        rows = self._rows(width, height - len(beside) - 1 if beside else height)
        return [*rows, (), *beside] if beside and len(rows) + 1 + len(beside) <= height else rows

    def _rows(self, width: int, height: int) -> Sequence[Line]:
        if not self.parts:
            return self.empty_lines(width, height)
        return bars([(part.name, part.seconds, part.share) for part in self.parts], width, width // 2)


class Kinds(LineWidget):
    DEFAULT_CSS = "Kinds { height: 1fr; width: 2fr; max-width: 60; margin: 0 2 0 0; }"
    kinds: tuple[tuple[str, float, float], ...] = ()

    def show(self, page: Page, empty: str) -> None:
        self.kinds, self.empty = says.account_kinds(page), empty
        self.repaint()

    def paint(self, width: int, height: int) -> Sequence[Line]:
        if not self.kinds:
            return self.empty_lines(width, height)
        return bars(self.kinds, width, min(width // 2, width - 18))


class Output(LineWidget):
    DEFAULT_CSS = "Output { height: 1fr; width: 1fr; }"

    def __init__(self, read: Callable[[int], list[str]]) -> None:
        super().__init__()
        self._read = read

    def paint(self, width: int, height: int) -> Sequence[Line]:
        found = self._read(height)
        return [((fit(line, width), TEXT),) for line in found] if found else self.empty_lines(width, height)


class WatchScreen(Screen[None]):
    AUTO_FOCUS = "#findings Table"
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS
    focused: Reactive[Widget | None] = Reactive(None, repaint=False)
    HELP = """\
## A watched program

The **verdict** is at the top. Below it are the recommended changes, largest saving first: each with its line,
the program time that it saves, and the *maximum* speedup of the step. **{table.select}** tries a change of
the step (XLA, several steps per call, a graph, float32, mixed precision): it captures the program's own step
and measures the step before and after the change. The same key stops the trial. **{table.preset}** opens the
preset that shows the same problem, with this program's sizes. Steps are timed continuously; parts and ops
come from short windows of TensorFlow's profiler. The verdict includes the cost of watching.

**{watch.catch}** captures the program's step or, in the Functions view, the function under the cursor. At its
next call, the function is retraced, saved to a folder with its variables, and opened in the lab, where you
can move its sliders. For a program on another host, run `tuilab watch` there.

The program has its own terminal; the Output view shows its latest lines. **{watch.type}** types a line into
it, **{watch.stop}** sends Ctrl-C. When you leave, the lab asks whether the program should continue.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("x", "stop", "stop", tooltip="send Ctrl-C to the program", id="watch.stop"),
        Binding("i", "type", "type", tooltip="type a line into the program", id="watch.type"),
        Binding(
            "c", "catch", "capture", tooltip="capture the program's step as a workload", id="watch.catch"
        ),
        Binding("A", "whole", "whole page", tooltip="read the whole page", id="watch.whole"),
        Binding("e", "export", "export", tooltip="write the page to a file", id="watch.export"),
        Binding("o", "app.ask_path", "open", tooltip="open a file in the lab", id="watch.open"),
        Binding("right_square_bracket", "step_view(1)", "next view", show=False, id="watch.next"),
        Binding("left_square_bracket", "step_view(-1)", "previous view", show=False, id="watch.previous"),
        *(
            Binding(str(number), f"view('{key}')", title.lower(), show=False, id=f"watch.view-{key}")
            for number, (key, title) in enumerate(TITLES.items(), 1)
        ),
        Binding("j", "app.simulate_key('down')", "down", show=False, id="watch.down"),
        Binding("k", "app.simulate_key('up')", "up", show=False, id="watch.up"),
        Binding("t", "app.toggle_dark", "light or dark", show=False, id="watch.theme"),
        Binding("question_mark,f1", "app.help", "help", id="watch.help"),
        Binding("q", "leave", "leave", id="watch.leave"),
        Binding("escape", "back", "back to the lab", show=False, id="watch.back"),
        Binding("ctrl+q", "app.quit", "quit", show=False, id="watch.quit"),
    ]

    class Told(Message, bubble=False):
        """Requests a redraw after a change."""

    class Taken(Message, bubble=False):
        def __init__(self, caught: Caught) -> None:
            super().__init__()
            self.caught = caught

    def __init__(self, watching: "ShownProgram") -> None:
        super().__init__(id="watch")
        self.watching = watching
        self.view = "steps"
        self.findings = findings_table()
        self.ops, self.functions, self.stages = ops_table(), functions_table(), stages_table()
        self.processes, self.account = processes_table(), account_table()
        self._opened: set[tuple[str, ...]] = set()
        self._page: Page | None = None
        self._lock, self._news, self._drawing = threading.Lock(), False, False
        self._can = (True, True)
        self._offers = (False, False, False)
        self._trial: Trial | None = None
        self._unwanted = 0
        """Number of pending captures that belong to stopped trials."""
        self._catching = ""
        """The message that announced a capture; "" if there is none."""

    def compose(self) -> ComposeResult:
        for name in ("filled.tcss", "watching.tcss"):
            self.app.stylesheet.read(Path(__file__).parents[1] / name)
        yield ProgramHeader()
        with framed(Container(id="answer"), "Verdict"):
            yield AnswerPanel(whole="{watch.whole}")
        with framed(Vertical(id="findings"), "What to change"):
            yield self.findings
            yield About()
        with Vertical(id="views", classes="frame"):
            tabs = Tabs(*(Tab(title, id=key) for key, title in TITLES.items()), active=self.view)
            tabs.can_focus = False
            yield tabs
            with ContentSwitcher(initial="view-steps"):
                with Horizontal(id="view-steps"):
                    yield Plot()
                    beside = Parts()
                    beside.add_class("beside")
                    yield beside
                yield Container(Parts(), id="view-parts")
                yield Container(self.ops, id="view-ops")
                yield Container(self.functions, id="view-functions")
                yield Container(self.stages, id="view-input")
                yield Container(self.processes, id="view-processes")
                yield Container(VerticalScroll(Static(markup=False), id="notes"), id="view-notes")
                yield Container(Output(self.watching.output), id="view-output")
                with Horizontal(id="view-account"):
                    yield Kinds()
                    yield self.account
        with framed(Container(id="last"), "Last output"):
            yield Output(self.watching.output)
        yield KeyBar()
        yield Small()

    def on_mount(self) -> None:
        self.watching.changed = self.tell
        self.watching.caught = self._heard_of
        self.set_interval(1.0, self._head)
        self.draw()
        gc.enable()

    def on_unmount(self) -> None:
        self.watching.changed = lambda: None
        self.watching.caught = lambda told: None

    def on_resize(self) -> None:
        """Give the program's terminal the size of the screen, so that the program's progress bars fit."""
        self.watching.resize(*self.app.size)

    def on_key(self, event: Key) -> None:
        keys = ("watch.catch", "watch.stop", "watch.type", "table.select", "table.preset")
        match unbound(self, event.key, *keys):
            case "watch.catch":
                self.action_catch()  # shows the reason
            case "watch.stop" | "watch.type":
                self.say("The program has ended.")
            case "table.select" | "table.preset" if self.findings.has_focus:
                self._say_no_preset()
            case _ if unbound(self, event.key):
                back = "{watch.open} opens a file there" if self._is_first else "{watch.back} goes there"
                self.say(f"This key works in the lab; {back}.")

    @property
    def _is_first(self) -> bool:
        """True if there is no lab below this screen."""
        return self.app.screen_stack[0] is self

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool:
        """Disable actions without an effect: after the program has ended, the actions that need a running
        program; and always the actions that do not apply to the finding under the cursor.
        """
        running, catches = self._can
        halts, acts, has_preset = self._offered()
        possible = {"stop": running, "type": running, "catch": catches, "preset": has_preset}
        return {**possible, "act": acts, "halt": halts}.get(action, True)

    def _offered(self) -> tuple[bool, bool, bool]:
        """Return whether a trial can be stopped, and whether the finding under the cursor has a change to try
        and a preset to open.
        """
        finding, trial = self.findings.row, self._trial is not None
        tries = finding is not None and not trial and self._tries(finding)
        return trial, tries, finding is not None and bool(finding.preset)

    # Drawing

    def tell(self) -> None:
        """Request a redraw. Any thread may call this method."""
        with self._lock:
            self._news, begin, self._drawing = True, not self._drawing, True
        if begin:
            self.post_message(self.Told())

    @on(Told)
    def _told(self) -> None:
        with self._lock:
            self._news = False
        self.draw()
        self.set_timer(DRAWN_S, self._again)

    def _again(self) -> None:
        with self._lock:
            self._drawing = self._news
        if self._drawing:
            self._told()

    def _head(self) -> None:
        self.query_one(ProgramHeader).show(self.watching.now, running=self.watching.running)

    def draw(self) -> None:
        watching, running = self.watching, self.watching.running
        if self._can != (can := (running, watching.catches)):
            self._can = can
            self.refresh_bindings()
            self._about()
        if self._trial is not None and not self._trial.captured and not watching.catches:
            self.call_later(
                self._lost
            )  # runs after the message about a capture that succeeded just before the program ended
        page = watching.page
        for output in self.query(Output):
            output.empty = says.why_empty("output", page, running=running)
            output.repaint()
        if page is self._page:
            return
        self._page = page
        empty = partial(says.why_empty, page=page, running=running)
        self._head()
        self.query_one(AnswerPanel).show(says.verdict(page, running=running))
        self.query_one("#findings").set_class(not page.findings, "-none")
        tables: tuple[tuple[Table[Any], tuple[Any, ...], str], ...] = (
            (self.findings, page.findings, "findings"),
            (self.ops, page.ops, "ops"),
            (self.functions, page.functions, "functions"),
            (self.stages, page.stages, "input"),
            (self.processes, page.processes, "processes"),
            (self.account, says.account_lines(page, self._opened), "account"),
        )
        for table, rows, part in tables:
            table.empty = empty(part)
            kept = table.cursor
            if tuple(table.rows) != rows:
                table.set_rows(rows)
                table.cursor = min(kept, max(0, len(rows) - 1))
        self._about()
        plot = self.query_one(Plot)
        plot.empty = empty("steps")
        plot.show_chart(says.chart(page, watching.steps), MARK)
        self.query_one(Kinds).show(page, empty("account"))
        for parts in self.query(Parts):
            parts.show(page, empty("parts"))
        self.query_one("#notes Static", Static).update(Content(notes(page)))

    @on(Table.Moved)
    def _about(self) -> None:
        finding, trial = self.findings.row, self._trial
        if self._offers != (offers := self._offered()):
            self._offers = offers
            self.refresh_bindings()
        tried = trial is not None and finding is not None and trial.finding.key == finding.key
        self.query_one(About).show(finding, trial.text if trial is not None and tried else "")
        words = [f"{len(self.findings.rows)} found"] * bool(self.findings.rows)
        if trial is not None:
            words.append(trial.text)
        elif finding is not None:
            words.append(says.selects(finding, tries=self._tries(finding), running=self.watching.running))
        said = spoken(self, says.SEPARATOR.join(filter(None, words)))
        retitle(self.query_one("#findings"), subtitle=said)

    def _tries(self, finding: Bottleneck) -> bool:
        """Return True if the finding's change can be tried now on the program's step."""
        return self.watching.catches and can_try(finding)

    # Actions

    def action_view(self, key: str) -> None:
        had_focus = self.query_one("#views").has_focus_within
        self.view = self.query_one(Tabs).active = key
        self.query_one(ContentSwitcher).current = f"view-{key}"
        if had_focus:
            shown = self.query_one(f"#view-{key}")
            place = next((w for w in shown.query("*") if w.focusable), self.findings)
            self.set_focus(place)

    def action_step_view(self, by: int) -> None:
        keys = list(TITLES)
        self.action_view(keys[(keys.index(self.view) + by) % len(keys)])

    def on_tabs_tab_activated(self, event: Tabs.TabActivated) -> None:
        if event.tab.id and event.tab.id != self.view and event.tab.id == event.tabs.active:
            self.action_view(event.tab.id)

    async def action_leave(self) -> None:
        """Return to the lab below this screen. If there is none, quit and leave the terminal to the
        program.
        """
        if self._is_first:
            await self.app.action_quit()
        else:
            self.action_back()

    def action_back(self) -> None:
        if self._is_first:
            self.say("No lab is open; {watch.open} opens a file in one, {watch.leave} leaves.")
            return
        if self.watching.running:
            self.say("Your program is still running; {watched} goes back to it.")
        self.dismiss()

    def action_stop(self) -> None:
        self.watching.interrupt()
        self.say("Ctrl-C was sent to the program.")

    def action_type(self) -> None:
        def typed(line: str | None) -> None:
            if line is not None:
                self.watching.type(line + "\n")

        text = "The program reads the line as if typed in its own terminal."
        self.app.push_screen(
            MenuScreen("Type into the program", typed="type a line, then press enter", empty=text), typed
        )

    def action_catch(self) -> None:
        """Capture the step, or in the Functions view the function under the cursor."""
        row = self.functions.row if self.view == "functions" else None
        try:
            name = self.watching.catch(row.number if row is not None else None)
        except (LookupError, OSError) as error:
            self.say(f"Nothing was captured: {error}.", "warning")
            return
        self._catching = self.say(f"{name} will be captured at its next call, which retraces it.")

    def _heard_of(self, told: Caught) -> None:
        """Pass the result of a capture from another thread to the screen."""
        self.post_message(self.Taken(told))

    @on(Taken)
    def _taken(self, event: Taken) -> None:
        told, trial = event.caught, self._trial
        if self._catching:
            self.app.withdraw(self._catching)  # type: ignore[attr-defined]
            self._catching = ""
        if trial is None and self._unwanted:
            self._unwanted -= 1
            return
        if told.problem:
            self._tries_now(None)
            self.say(f"The step could not be captured: {told.problem.splitlines()[0]}", "error")
            return
        if trial is not None and not trial.captured:
            self._tries_now(Trial(trial.finding, captured=True))
            self.run_worker(self._measure(told.folder, trial.finding), group=TRIAL)
            return
        self.app.open_caught(told.folder)  # type: ignore[attr-defined]

    def action_whole(self) -> None:
        self.app.push_screen(WholePage(self.watching.said))

    def action_page(self, name: str) -> None:
        """Show the whole page. A click in the verdict runs this action."""
        self.action_whole()

    def action_export(self) -> None:
        kinds = {"markdown": "md", "html": "html", "json": "json"}

        def chosen(key: str | None) -> None:
            if key:
                try:
                    self.say(f"Written: {export(FORMATS[key](self.watching.page), kinds[key])}")
                except OSError as error:
                    self.say(f"Cannot write to {Path.cwd()}: {error.strerror}", "error")

        offers = [Offer(key, key, f".{end}") for key, end in kinds.items()]
        self.app.push_screen(MenuScreen("Export to the current folder", offers), chosen)

    @on(Table.Selected)
    async def _open(self) -> None:
        """Act on the row under the cursor: show a process's page, expand or collapse a line, or start
        or stop the trial of a finding's change.

        If the change cannot be tried, open the preset that demonstrates the finding.
        """
        if self.processes.has_focus and (row := self.processes.row) is not None:
            self.watching.choose(list(self.processes.rows).index(row))
            return
        if self.account.has_focus and (line := self.account.row) is not None:
            self._opened ^= {line.path} if line.more else set()
            cursor = self.account.cursor
            self.account.set_rows(says.account_lines(self.watching.page, self._opened))
            self.account.cursor = cursor
            return
        finding = self.findings.row
        if not self.findings.has_focus or finding is None:
            return
        if self._trial is not None:
            self._stop_trial(self._trial)
        elif self._tries(finding):
            self._try(finding)
        else:
            await self.action_preset()

    async def action_preset(self) -> None:
        finding = self.findings.row
        if finding is None or not finding.preset:
            self._say_no_preset()
            return
        await self.app.open_preset(finding.preset, finding.sizes)  # type: ignore[attr-defined]

    def _say_no_preset(self) -> None:
        finding = self.findings.row
        self.say(
            f"No preset demonstrates {finding.code}." if finding is not None else "No finding is selected."
        )

    def action_act(self) -> None:
        self.findings.action_select()

    def action_halt(self) -> None:
        if self._trial is not None:
            self._stop_trial(self._trial)

    def _try(self, finding: Bottleneck) -> None:
        """Capture the step, to measure it with the finding's change."""
        try:
            if why := refusal(finding, self.watching.page):
                raise LookupError(why)
            self.watching.catch()
        except (LookupError, OSError) as error:
            self.say(f"This change cannot be tried: {error}.", "warning")
            return
        self._tries_now(Trial(finding))

    def _tries_now(self, trial: Trial | None) -> None:
        self._trial = trial
        self._about()

    def _stop_trial(self, trial: Trial) -> None:
        self._unwanted += not trial.captured
        self._tries_now(None)
        self.workers.cancel_group(self, TRIAL)
        self.say(f"The trial of {trial.finding.code} was stopped; nothing was measured.")

    def _lost(self) -> None:
        """End a trial whose step was not captured before the program ended."""
        if self._trial is not None and not self._trial.captured:
            self.say(
                f"{self._trial.finding.code} was not tried: the program ended before its next step.",
                "warning",
            )
            self._tries_now(None)

    async def _measure(self, folder: str, finding: Bottleneck) -> None:
        try:
            tried = await attempt(folder, finding, self.watching.page, self.watching.python)
        finally:
            if self._trial is not None and self._trial.captured:
                self._tries_now(None)
        self.say(f"{finding.code}: {measured(self.watching.note_trial(finding, tried))}.")

    def say(self, text: str, tone: "SeverityLevel" = "information") -> str:
        """Show a message. Returns the text as shown."""
        words = spoken(self, text)
        self.notify(words, severity=tone, markup=False)
        return words

    def entries(self) -> Iterator[tuple[str, str, Callable[[], object]]]:
        for keys, words, action in keys_here(self):
            yield f"{words}  ({keys})", "", partial(self.run_action, action)


class WholePage(modal.Page[None]):
    HELP = (
        "## The whole page\n\nThis is the page as `tuilab watch --plain` prints it, and as the "
        "history saves it.\n"
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("A,q,enter", "close", "close", show=False, id="whole.close")
    ]

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def compose(self) -> ComposeResult:
        with framed(VerticalScroll(), "The page", "arrows and wheel scroll, {page.close} closes"):
            yield Static(Content(self._text))


def where(row: "Bottleneck | OpRow | FunctionRow | Stage") -> str:
    """Return the place of a row's code, such as `train.py:12`."""
    return place(row.file, row.line)


def notes(page: Page) -> str:
    said = [watching_cost(page.cost)] * bool(page.cost.windows) + [*page.notes]
    lines = [f"{capitalized(note)}." for note in said]
    if page.python:
        lines.append(f"Python {page.python}, TensorFlow {page.tensorflow}, on {page.host}.")
    return "\n".join(lines) or "No notes yet."


class Findings(Table[Bottleneck]):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "screen.halt", "stop the trial", id="table.select"),
        Binding("enter", "screen.act", "try it", id="table.select"),
        Binding("enter", "screen.preset", "open preset", show=False, id="table.select"),
        Binding("p", "screen.preset", "open preset", id="table.preset"),
    ]


def findings_table() -> Table[Bottleneck]:
    columns: list[Column[Bottleneck]] = [
        Column("finding", lambda row: f"{'└ ' * bool(row.part_of)}{row.code}", most=18, style=lambda _: BAD),
        Column("at", where, most=28, flex=True),
        Column("saves", lambda row: says.saves(row), align="right", key=lambda row: row.saves_s or 0.0),
        Column("of the program", lambda row: says.program_share(row), align="right",
               key=lambda row: row.program_share or 0.0),
        Column("step speedup ≤", lambda row: says.gain(row, table.rows), align="right", drop=1,
               key=lambda row: at_most(row).step or 0.0),
        Column("preset", lambda row: row.preset, most=20, drop=2, style=lambda _: MUTED,
               sparse=True),
    ]  # fmt: skip
    table = Findings(columns, noun="finding")
    return table


def ops_table() -> Table[OpRow]:
    columns: list[Column[OpRow]] = [
        Column("share", lambda row: percent(row.share), align="right", key=lambda row: row.share),
        Column("op", lambda row: row.op, most=28),
        Column("device", lambda row: row.device, most=8),
        Column("layer", lambda row: row.layer, most=20, drop=2, sparse=True),
        Column("at", where, most=24, sparse=True),
        Column(
            "why not on a GPU",
            lambda row: row.reason,
            most=60,
            flex=True,
            drop=1,
            style=lambda _: MUTED,
            sparse=True,
        ),
    ]
    return Table(columns, noun="row", detail=lambda row: row.reason)


def functions_table() -> Table[FunctionRow]:
    columns: list[Column[FunctionRow]] = [
        Column("function", lambda row: row.name.rpartition(".")[2], most=30, flex=True),
        Column("at", where, most=28),
        Column("traces", lambda row: f"{row.traces:,}", align="right", key=lambda row: row.traces),
        Column("calls", lambda row: f"{row.calls:,}", align="right", key=lambda row: row.calls),
        Column("tracing", lambda row: seconds(row.tracing_s) if row.tracing_s else "–",
               align="right", key=lambda row: row.tracing_s),
        Column("functions", lambda row: f"{row.functions:,}" if row.functions > 1 else "", align="right",
               drop=1, sparse=True),
        Column("what differed", lambda row: row.differed, most=30, drop=1, sparse=True),
        Column("XLA", lambda row: "yes" if row.xla else "", width=3, drop=2, sparse=True),
    ]  # fmt: skip
    return Table(columns, noun="function", detail=lambda row: row.differed and f"differed: {row.differed}")


def processes_table() -> Table[ProcessRow]:
    """Return a table of all processes that imported TensorFlow. The line below the table names the slowest
    process.
    """
    columns: list[Column[ProcessRow]] = [
        Column("host", lambda row: row.host, most=20),
        Column("process", lambda row: str(row.pid or "–"), align="right", key=lambda row: row.pid),
        Column("program", lambda row: PurePath(row.command).name, most=28, flex=True),
        Column("steps", lambda row: f"{row.steps.n:,}", align="right", key=lambda row: row.steps.n),
        Column("a step", took, align="right", key=lambda row: row.steps.median_s or 0.0),
        Column("longest part",
               lambda row: f"{percent(row.share)} {row.part}" if row.share is not None else "",
               most=26, drop=1),
    ]  # fmt: skip
    table = Table(columns, detail=lambda row: slowest(table.rows), noun="process")
    return table


class AccountTable(Table[says.AccountLine]):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select", "expand or collapse the line", id="table.select"),
    ]


def account_table() -> Table[says.AccountLine]:
    """Return the table that shows the program's time as a tree of code lines. Enter expands or collapses a
    line.
    """
    columns: list[Column[says.AccountLine]] = [
        Column("line", lambda row: row.text, most=48, flex=True),
        Column("time", lambda row: seconds(row.seconds), align="right"),
        Column("share", lambda row: percent(row.share), align="right"),
        Column("activity", lambda row: row.does, most=40, drop=1, style=lambda _: MUTED, sparse=True),
    ]
    return AccountTable(columns, noun="line", detail=lambda row: row.does)


def took(row: ProcessRow) -> str:
    median_s = row.steps.median_s
    return seconds(median_s) if median_s else "–"


def stages_table() -> Table[Stage]:
    columns: list[Column[Stage]] = [
        Column("stage", lambda row: row.stage, most=24),
        Column("function", lambda row: row.function, most=24),
        Column("at", where, most=28),
        Column(
            "ops",
            lambda row: ", ".join(row.ops),
            most=60,
            flex=True,
            drop=1,
            style=lambda _: MUTED,
            sparse=True,
        ),
    ]
    return Table(columns, noun="stage")
