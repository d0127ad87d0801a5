"""Runs commands as another user of the machine. Reads trials as JSON lines and answers each with one line.

Each trial is a fork. The other user may be unable to read the Python files. A trial therefore runs the
command first with full privileges, which imports the files, and a second time without these privileges.
"""

import contextlib
import io
import json
import os
import sys
import tempfile
from collections.abc import Callable

from tests.attack.faulted import load_commands
from tuilab.cli import main as program
from tuilab.processes import die_with_parent


def command(words: list[str], environment: dict[str, str]) -> tuple[int, str, str]:
    os.environ |= environment
    streams = [io.TextIOWrapper(io.BytesIO(), "utf-8", "replace", write_through=True) for _ in range(2)]
    sys.argv, code = ["tuilab", *words], 0
    with contextlib.redirect_stdout(streams[0]), contextlib.redirect_stderr(streams[1]):
        try:
            program.main()
        except SystemExit as ended:
            code = int(ended.code or 0) if isinstance(ended.code, int | None) else 1
    out, err = (stream.buffer.getvalue().decode("utf-8", "replace") for stream in streams)
    return code, out, err


def code(text: str, environment: dict[str, str], answer: Callable[[object], None]) -> None:
    os.environ |= environment
    exec(text, {"answer": answer})


def main() -> None:
    load_commands()
    for line in sys.stdin:
        told = json.loads(line)
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:

            def answer(what: object, write: int = write) -> None:
                os.write(write, json.dumps(what).encode() + b"\n")

            if "words" in told:
                command(told["warm"], told["before"])
            else:
                exec(told["warm"])
            tempfile.tempdir = None
            os.setgroups([])
            os.setgid(told["gid"])
            os.setuid(told["uid"])
            os.umask(0o022)
            os.chdir("/")
            if "words" in told:
                answer(command(told["words"], told["environment"]))
            else:
                die_with_parent()  # changing the user has cleared this setting
                code(told["code"], told["environment"], answer)
            os._exit(0)
        os.close(write)
        with os.fdopen(read, "rb") as stream:
            print(stream.readline().decode() or "null\n", end="", flush=True)
        if "words" in told:
            os.waitpid(pid, 0)


if __name__ == "__main__":
    main()
