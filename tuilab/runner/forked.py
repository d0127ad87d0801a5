"""Acts as a worker that is forked from a zygote: `python -I -S forked.py DESCRIPTOR -- COMMAND…`.

This process passes its standard descriptors, environment and folder to the zygote at the other end of the
socket DESCRIPTOR (`tuilab.worker.zygote`), waits, and exits like the forked worker. When this process ends,
the worker ends too. It imports only the standard library, to start within hundredths of a second.
"""

import json
import os
import socket
import sys


def main(descriptor: int, command: list[str]) -> int:
    """Ask the zygote for a worker, and wait for the worker. Return the worker's exit code. If a signal ended
    the worker, end this process by the same signal.

    If the zygote has ended, start a fresh process instead.
    """
    zygote = socket.socket(fileno=descriptor)
    mine, answer = socket.socketpair()
    told = {
        "environment": dict(os.environ),
        "folder": os.getcwd(),
        "command": command,
        "descriptors": [0, 1, 2],
    }
    zygote.setblocking(True)
    try:
        socket.send_fds(zygote, [json.dumps(told).encode()], [0, 1, 2, answer.fileno()])
    except OSError:  # the zygote has ended, so start a fresh process
        os.execv(command[0], command)
    zygote.close()
    answer.close()
    # Close this process's copies of the pipes, so that their readers notice when the worker ends.
    empty = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(empty, number)
    status = int(mine.recv(16) or b"9")
    if os.WIFSIGNALED(status):
        os.kill(os.getpid(), os.WTERMSIG(status))
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[3:]))
