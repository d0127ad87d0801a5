"""The command palette: every action with its key, and every preset."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.markup import escape
from textual.types import IgnoreReturnCallbackType

from tuilab.tui.actions import ACTIONS

if TYPE_CHECKING:
    from tuilab.tui.screens.lab import LabScreen


class Actions(Provider):
    """Actions of the main screen, presets by name and title; on a page over it, what its keys do."""

    @property
    def _lab(self) -> "LabScreen":
        return cast("LabScreen", self.screen)

    def _entries(self) -> Iterator[tuple[str, str, IgnoreReturnCallbackType]]:
        from tuilab.tui.screens.lab import LabScreen

        screen = self._lab
        if not isinstance(screen, LabScreen):
            yield from self._of_page()
            return
        for action in ACTIONS:
            key = screen.app.keys_of(action)
            yield f"{action.label}  ({key})", action.help, self._doing(action.name)
        if screen.lab is not None:
            for preset in screen.lab.state.presets:
                yield f"open {preset.name}", preset.title, self._opening(preset.name)

    def _of_page(self) -> Iterator[tuple[str, str, IgnoreReturnCallbackType]]:
        """What the keys of a page over the main screen do."""
        from tuilab.tui.app import key_name

        found: dict[str, tuple[str, list[str]]] = {}
        for key, active in self.screen.active_bindings.items():
            words = active.tooltip or active.binding.description
            if active.node is self.screen and words:
                found.setdefault(words, (active.binding.action, []))[1].append(key_name(key))
        for words, (action, keys) in found.items():
            yield f"{words}  ({', '.join(keys)})", "", self._doing(action)

    def _doing(self, action: str) -> IgnoreReturnCallbackType:
        async def do() -> None:
            await self._lab.run_action(action)

        return do

    def _opening(self, name: str) -> IgnoreReturnCallbackType:
        return lambda: self._lab.open_preset(name)

    async def discover(self) -> Hits:
        for text, help, do in self._entries():
            yield DiscoveryHit(Content(text), do, text=text, help=escape(help))

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for text, help, do in self._entries():
            score = max(matcher.match(text), 0.7 * matcher.match(help))
            if score > 0:
                yield Hit(score, Content(text), do, text=text, help=escape(help))
