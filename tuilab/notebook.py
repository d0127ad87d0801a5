"""`%load_ext tuilab`: measures a call in a notebook cell in a separate worker and shows the result.

`%tuilab step(x, y)` captures that call. `%%tuilab` runs the cell and captures the call in its last line.
"""

import argparse
import ast
import asyncio
import html
import shlex
import tempfile
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from tuilab.captured import capture
from tuilab.lab import Lab
from tuilab.lab.settings import Own, choose
from tuilab.model.subject import Model
from tuilab.report.html import page
from tuilab.report.text import table

USAGE = "%tuilab [--budget quick] [--device CPU] [--batch 1:4k:x4] step(x, y)"


class Shown:
    """The result of a run for a notebook: a table and a plot, or plain text without HTML."""

    def __init__(self, result: Any, state: Any) -> None:
        self.result = result
        self._text = table(result, details=False)
        self._page = page(result, state)

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        framed = html.escape(self._page, quote=True)
        return f'<iframe srcdoc="{framed}" sandbox="" style="width:100%;height:640px;border:0"></iframe>'


def measured(words: str, code: str, space: dict[str, Any]) -> Shown:
    """Capture the last call in the code, measure that call and return the result.

    Raises ValueError with a message about the expected input.
    """
    options = _options(words)
    tree = ast.parse(code)
    last = tree.body[-1] if tree.body else None
    if not isinstance(last, ast.Expr):
        raise ValueError(f"tuilab: the last line is not a call; {USAGE}")
    exec(compile(ast.Module(tree.body[:-1], []), "<tuilab>", "exec"), space)
    with tempfile.TemporaryDirectory(prefix="tuilab-") as folder:
        path = _caught(last.value, space, Path(folder) / "call")
        return _run(lambda: _measure(str(path), options))


def _caught(called: ast.expr, space: dict[str, Any], folder: Path) -> Path:
    def value(node: ast.expr) -> Any:
        return eval(compile(ast.Expression(node), "<tuilab>", "eval"), space)

    if isinstance(called, ast.Call):
        given = [value(each) for each in called.args if not isinstance(each, ast.Starred)]
        named = {each.arg: value(each.value) for each in called.keywords if each.arg}
        if len(given) + len(named) < len(called.args) + len(called.keywords):
            raise ValueError(f"tuilab: * and ** are not supported; {USAGE}")
        return capture(value(called.func), *given, folder=folder, **named)
    return capture(value(called), folder=folder)


def _options(words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser("%tuilab", add_help=False, exit_on_error=False)
    parser.add_argument("--budget", choices=("quick", "standard", "publish"), default="quick")
    parser.add_argument("--device", action="append", default=[])
    parser.add_argument("--mode", action="append", default=[])
    parser.add_argument("--batch", default="")
    try:
        found, left = parser.parse_known_args(shlex.split(words))
    except argparse.ArgumentError as error:
        raise ValueError(f"tuilab: {error}; {USAGE}") from None
    if left:
        raise ValueError(f"tuilab: {left[0]} is not an option; {USAGE}")
    return found


async def _measure(folder: str, options: argparse.Namespace) -> Shown:
    async with Lab() as lab:
        place, words = Model(folder).place, {"devices": options.device, "modes": options.mode}
        own = Own(await lab.questions.declare(place), place)
        ranged = ":" in options.batch or "," in options.batch
        given = [f"batch={options.batch}"] if options.batch and not ranged else []
        settings = choose(own.preset, own, given, **words)
        if ranged:
            result = await lab.sweep(settings, [f"batch={options.batch}"], budget=options.budget)
        else:
            result = await lab.measure(settings, budget=options.budget)
        return Shown(result, lab.state.shown)


def _run(main: Callable[[], Coroutine[Any, Any, Shown]]) -> Shown:
    """Run a coroutine in a new thread, because the kernel's event loop is blocked while a cell runs."""
    found: list[Shown] = []
    wrong: list[BaseException] = []

    def work() -> None:
        try:
            found.append(asyncio.run(main()))
        except BaseException as error:
            wrong.append(error)

    thread = threading.Thread(target=work, name="tuilab")
    thread.start()
    thread.join()
    if wrong:
        raise wrong[0]
    return found[0]


def load(shell: Any) -> None:
    def tuilab(line: str, cell: str | None = None) -> Shown:
        if cell is not None:
            return measured(line, cell, shell.user_ns)
        words, code = _apart(line)
        return measured(words, code, shell.user_ns)

    shell.register_magic_function(tuilab, "line_cell", "tuilab")


def _apart(line: str) -> tuple[str, str]:
    words, rest = [], line.strip()
    while rest.startswith("--"):
        option, _, rest = rest.partition(" ")
        words.append(option)
        if "=" not in option:
            value, _, rest = rest.lstrip().partition(" ")
            words.append(value)
        rest = rest.lstrip()
    return " ".join(words), rest
