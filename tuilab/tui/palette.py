"""What the command palette finds: a command by its name, an action by the words that explain it too."""

import re

from textual.command import Hit, Hits
from textual.system_commands import SystemCommandsProvider

BY_NAME, BY_HELP = 200.0, 100.0


class Commands(SystemCommandsProvider):
    """The actions first, by name and then by their help; then the presets."""

    async def search(self, query: str) -> Hits:
        """Yield what the query finds. A preset is opened by name alone: its help is its title."""
        matcher, words = self.matcher(query), query.casefold().split()
        for name, told, do, *_ in self.app.get_system_commands(self.screen):
            found, preset = matcher.match(name), name.startswith("open ")
            if found > 0:
                yield Hit(found if preset else BY_NAME + found, matcher.highlight(name), do, help=told)
            elif not preset and words and all(_begins(told, word) for word in words):
                yield Hit(BY_HELP, name, do, help=told)


def _begins(told: str, word: str) -> bool:
    """Whether a word of a sentence begins so."""
    return any(each.startswith(word) for each in re.findall(r"\w+", told.casefold()))
