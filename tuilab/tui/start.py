"""Opens the lab without garbage collection until the first paint."""

import gc

from tuilab.tui.options import Options


def open_lab(options: Options | None = None) -> int:
    """Open the lab. Returns the exit code.

    The garbage collector stays off until `LabScreen` has painted. Importing Textual creates many objects and
    almost no garbage, so collecting would take a tenth of the time until the first paint and free nothing.
    """
    gc.disable()
    try:
        from tuilab.tui.app import run

        return run(options or Options())
    finally:
        gc.enable()
