"""The `tuilab` command. Without arguments, it opens the lab, and does not load modules that only commands
need.
"""

import os
import signal
import sys

from tuilab.streams import repair_streams


def main() -> None:
    """Open the lab, or run the command given by the arguments."""
    repair_streams()
    # the parent process may ignore SIGCHLD, so that the lab would never see a child process end
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    # Shell completion calls the command without arguments and sets this variable.
    if len(sys.argv) == 1 and "_TUILAB_COMPLETE" not in os.environ:
        from tuilab.tui.start import open_lab

        sys.exit(open_lab())
    from tuilab.cli.main import main as command

    command()


if __name__ == "__main__":
    main()
