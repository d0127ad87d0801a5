"""Opens the lab with the garbage collector off until the screen has been painted."""

import gc

from tuilab.tui.options import Options


def open_lab(options: Options | None = None) -> int:
    """Open the lab; return the exit code.

    The garbage collector stays off until `LabScreen` has painted. Importing Textual creates many objects and
    almost no garbage, so collecting meanwhile frees nothing and takes a tenth of the time until the first
    paint.
    """
    gc.disable()
    try:
        from tuilab.tui.app import run

        return run(options or Options())
    finally:
        gc.enable()
