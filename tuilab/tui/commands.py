"""The command palette: what the screen offers, or what its keys do."""

from collections.abc import Callable, Iterator
from functools import partial

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.markup import escape

from tuilab.tui.actions import key_name

Entry = tuple[str, str, Callable[[], object]]
"""Words, help, what to do."""


class Actions(Provider):
    """The `entries` of the screen, where it has some; on a page over it, what its keys do."""

    def _entries(self) -> Iterator[Entry]:
        offered: Callable[[], Iterator[Entry]] | None = getattr(self.screen, "entries", None)
        yield from offered() if offered is not None else self._of_page()

    def _of_page(self) -> Iterator[Entry]:
        found: dict[str, tuple[str, list[str]]] = {}
        for key, active in self.screen.active_bindings.items():
            words = active.tooltip or active.binding.description
            if active.node is self.screen and words:
                found.setdefault(words, (active.binding.action, []))[1].append(key_name(key))
        for words, (action, keys) in found.items():
            yield f"{words}  ({', '.join(keys)})", "", partial(self.screen.run_action, action)

    async def discover(self) -> Hits:
        for text, help, do in self._entries():
            yield DiscoveryHit(Content(text), do, text=text, help=escape(help))

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for text, help, do in self._entries():
            score = max(matcher.match(text), 0.7 * matcher.match(help))
            if score > 0:
                yield Hit(score, Content(text), do, text=text, help=escape(help))
