"""The `tuilab` command. Without arguments, it opens the lab and loads nothing that only commands need."""

import os
import signal
import sys

from tuilab.streams import repair_streams


def main() -> None:
    """Open the lab, or run the command in the arguments."""
    repair_streams()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # a parent that ignores it would never see a child's end
    # Shell completion calls without arguments and sets this variable.
    if len(sys.argv) == 1 and "_TUILAB_COMPLETE" not in os.environ:
        from tuilab.tui.start import open_lab

        sys.exit(open_lab())
    from tuilab.cli.main import main as command

    command()


if __name__ == "__main__":
    main()
