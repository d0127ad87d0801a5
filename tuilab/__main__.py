"""The `tuilab` command. Without arguments, opens the lab without importing the modules of the commands."""

import os
import signal
import sys

from tuilab.streams import repair_streams


def main() -> None:
    repair_streams()
    # if the parent process ignores SIGCHLD, the lab would never see a child process end
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    # Shell completion sets this variable and calls the command without arguments.
    if len(sys.argv) == 1 and "_TUILAB_COMPLETE" not in os.environ:
        from tuilab.tui.start import open_lab

        sys.exit(open_lab())
    from tuilab.cli.main import main as command

    command()


if __name__ == "__main__":
    main()
