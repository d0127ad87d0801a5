"""The way into the lab, which leaves the collector of garbage at rest until the screen has been painted."""

import gc

from tuilab.tui.options import Options


def open_lab(options: Options | None = None) -> int:
    """Open the lab; returns the exit code. `LabScreen` wakes the collector after its first paint.

    Importing Textual makes many objects and hardly any garbage, so that collecting it while it is imported
    costs a tenth of the time to the first paint and frees nothing.
    """
    gc.disable()
    try:
        from tuilab.tui.app import run

        return run(options or Options())
    finally:
        gc.enable()
