"""Formats keys for display, and replaces the names of actions in sentences, such as `{run} measures`, with
keys.
"""

import importlib
import pkgutil
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from textual.binding import Binding
from textual.widget import Widget

from tuilab import tui
from tuilab.tui.actions import ACTIONS, Action

if TYPE_CHECKING:
    from textual.screen import Screen

_NAMES = {
    "question_mark": "?", "right_square_bracket": "]", "left_square_bracket": "[", "slash": "/",
    "comma": ",", "full_stop": ".", "less_than_sign": "<", "greater_than_sign": ">", "plus": "+",
    "minus": "-", "equals_sign": "=", "percent_sign": "%", "escape": "esc", "pageup": "page up",
    "pagedown": "page down", "left": "←", "right": "→", "up": "↑", "down": "↓",
}  # fmt: skip
_ACTION = re.compile(r"\{([a-z]+(?:[.-][a-z0-9]+)*)\}")
_declared = {action.id: action.keys for action in ACTIONS}


def key_name(key: str) -> str:
    """Return a key as it is shown to users: `?`, `^p`, `U`, `shift ←`."""
    modifier, plus, rest = key.rpartition("+")
    if plus and rest:
        return f"^{key_name(rest)}" if modifier == "ctrl" else f"{modifier} {key_name(rest)}"
    return _NAMES.get(key, key)


def keys_of(action: Action, keymap: Mapping[str, str]) -> str:
    """Return an action's keys as they are shown to users, such as `?, f1`. keymap: the user's own keys by
    action id.
    """
    return ", ".join(key_name(key) for key in keymap.get(action.id, action.keys).split(","))


def keys_here(*widgets: Widget | None) -> Iterator[tuple[str, str, str]]:
    """Yield the active keys that these widgets define: keys, description, and name of the action."""
    found: dict[tuple[str, str], list[str]] = {}
    for widget in filter(None, widgets):
        for key, active in widget.screen.active_bindings.items():
            words = active.tooltip or active.binding.description.lower()
            if active.node is widget and words:
                found.setdefault((words, active.binding.action), []).append(key)
    for (words, action), every in found.items():
        # Some terminals send `shift+o` instead of `O`.
        keys = [key for key in every if key.removeprefix("shift+").upper() not in every or len(key) == 1]
        if keys != [words]:  # omit keys such as `up`, whose name is their description
            yield ", ".join(map(key_name, keys)), words, action


def declared() -> Mapping[str, str]:
    """Return the default keys of every action, by action id. Imports every screen."""
    _load()
    _learn()
    return _declared


@cache
def _load() -> None:
    for module in pkgutil.walk_packages(tui.__path__, f"{tui.__name__}."):
        importlib.import_module(module.name)


def _learn() -> None:
    kinds: list[type[Widget]] = [Widget]
    while kinds:
        kind = kinds.pop()
        kinds += kind.__subclasses__()
        if kind.__module__.startswith("tuilab."):
            for binding in kind.__dict__.get("BINDINGS", ()):
                if isinstance(binding, Binding) and binding.id:
                    _declared.setdefault(binding.id, binding.key)


def worded(text: str, keymap: Mapping[str, str]) -> str:
    """Replace each `{action}` in the text with the action's first key: from `keymap`, or else the default.
    Other braces remain.
    """

    def key(named: re.Match[str]) -> str:
        if named[1] not in _declared:
            _learn()
        if named[1] not in _declared:  # the action may belong to a view that has not been imported yet
            declared()
        keys = keymap.get(named[1], _declared.get(named[1], ""))
        name = key_name(keys.partition(",")[0])
        if len(name) > 1 and name.isalpha() and text[: named.start()].endswith((". ", "? ", "! ")):
            name = name.capitalize()
        return name or named[0]

    return _ACTION.sub(key, text) if "{" in text else text


def unbound(screen: "Screen[Any]", key: str, *ids: str) -> str:
    """If a key does nothing on this screen, return the id of the action that this key has elsewhere;
    otherwise "".

    ids: ids of the actions to search; by default, all actions of the lab.
    """
    active = screen.active_bindings.get(key)
    if active is not None and active.enabled:
        return ""
    keymap = getattr(screen.app, "keymap", {})
    searched = ids or tuple(action.id for action in ACTIONS)
    return next((each for each in searched if key in keymap.get(each, _declared[each]).split(",")), "")


def spoken(widget: Widget, text: str) -> str:
    return worded(text, getattr(widget.app, "keymap", {}))
