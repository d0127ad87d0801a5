"""What the command palette finds: a command by its name, an action by the words that explain it too."""

import re

from rich.markup import escape
from textual.command import Hit, Hits
from textual.system_commands import SystemCommandsProvider

BY_NAME, BY_HELP, BY_WORDS = 200.0, 100.0, 0.5


THINGS = ("open ", "set ", "switch ", "finding: ")
"""What these begin is no action; the actions come before it."""


class Commands(SystemCommandsProvider):
    """The actions first, by name and then by their help and users' words; then the presets."""

    async def search(self, query: str) -> Hits:
        """Yield what the query finds. A preset is found by its name first, then by the words of its page."""
        matcher, words = self.matcher(query), query.casefold().split()
        for name, told, do, *more in getattr(self.screen, "entries", tuple)():
            found, preset = matcher.match(name), name.startswith(THINGS)
            name, shown = escape(name), escape(told)
            if found > 0:
                yield Hit(found if preset else BY_NAME + found, matcher.highlight(name), do, help=shown)
            elif words and all(_begins(" ".join([told, *more]), word) for word in words):
                yield Hit(BY_WORDS if preset else BY_HELP, name, do, help=shown)


def _begins(told: str, word: str) -> bool:
    """Whether a word of a sentence begins so."""
    return any(each.startswith(word) for each in re.findall(r"[\w-]+", told.casefold()))
