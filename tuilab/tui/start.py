"""The way into the lab, which leaves the collector of garbage at rest until the screen has been painted."""

import gc
import os

from tuilab.tui.options import Options

SERVED = "TUILAB_SERVED"
"""Environment variable: this lab is a page's, whose server may be killed."""


def open_lab(options: Options | None = None) -> int:
    """Open the lab; returns the exit code. `LabScreen` wakes the collector after its first paint.

    Importing Textual makes many objects and hardly any garbage, so that collecting it while it is imported
    costs a tenth of the time to the first paint and frees nothing.
    """
    if os.environ.pop(SERVED, ""):
        from tuilab.processes import die_with_parent

        die_with_parent()
    gc.disable()
    try:
        from tuilab.tui.app import run

        return run(options or Options())
    finally:
        gc.enable()
