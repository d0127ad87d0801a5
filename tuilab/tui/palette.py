"""Searches the command palette: all entries by name, actions also by description."""

import re

from rich.markup import escape
from textual.command import Hit, Hits
from textual.system_commands import SystemCommandsProvider

BY_NAME, BY_HELP, BY_WORDS = 200.0, 100.0, 0.5


THINGS = ("open ", "set ", "switch ", "finding: ")
"""Prefixes of the entries that are not actions. The list shows these entries after the actions."""


class Commands(SystemCommandsProvider):
    async def search(self, query: str) -> Hits:
        """Yield the matches of a query: actions by name, then by help text and users' words; presets by name,
        then by description.
        """
        matcher, words = self.matcher(query), query.casefold().split()
        for name, told, do, *more in getattr(self.screen, "entries", tuple)():
            match, preset = matcher.match(name), name.startswith(THINGS)
            name, shown = escape(name), escape(told)
            if match > 0:
                yield Hit(match if preset else BY_NAME + match, matcher.highlight(name), do, help=shown)
            elif words and all(_begins(" ".join([told, *more]), word) for word in words):
                yield Hit(BY_WORDS if preset else BY_HELP, name, do, help=shown)


def _begins(told: str, word: str) -> bool:
    return any(each.startswith(word) for each in re.findall(r"[\w-]+", told.casefold()))
