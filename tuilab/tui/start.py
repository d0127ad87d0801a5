"""The way into the lab, which leaves the collector of garbage at rest until the screen has been painted."""

import gc
from collections.abc import Mapping
from typing import Any


def open_lab(options: Mapping[str, Any]) -> int:
    """Open the lab; returns the exit code. `LabScreen` wakes the collector after its first paint.

    Importing Textual makes many objects and hardly any garbage, so that collecting it while it is imported
    costs a tenth of the time to the first paint and frees nothing.
    """
    gc.disable()
    try:
        from tuilab.tui.app import run

        return run(options)
    finally:
        gc.enable()
