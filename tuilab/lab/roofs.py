"""The roofs of machines, as the lab keeps them: learnt from a run's events, given to the next run."""

import contextlib

from tuilab.analysis.roofline import better
from tuilab.history import roofs as store
from tuilab.model.events import Event, RoofsKnown
from tuilab.model.roofline import Roofs


def known() -> tuple[Roofs, ...]:
    """Those of every machine that was measured, for a request to carry along."""
    return store.known()


def learn(event: Event) -> None:
    """Keep the roofs that a run told of. Where they cannot be kept, the next run measures them again."""
    if isinstance(event, RoofsKnown):
        with contextlib.suppress(OSError):
            store.keep(event.roofs, better)
