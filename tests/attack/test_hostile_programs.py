"""Watched programs that do harm, deliberately or not, end as they would without watching. The page reports
the problem, and no file or process is left behind.

The programs send the observer's protocol, but do not use TensorFlow.
"""

import os
import random
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec
import pytest

from tests.attack.test_attack import linux, long, ours, part, table  # noqa: F401
from tests.calling import TUILAB, environment

SAYS = """
import json, os, socket, struct, sys, time
def connect():
    stream = socket.socket(socket.AF_UNIX); stream.connect(os.environ["TUILAB_WATCH"]); return stream
def tell(stream, kind, raw=b"", body=None, **about):
    body = json.dumps({"kind": kind, **about}).encode() if body is None else body
    stream.sendall(struct.pack(">II", len(body), len(raw)) + body + raw)
def hello(stream):
    tell(stream, "hello", pid=os.getpid(), parent=os.getppid(), script="a", tensorflow="2.21.0", now=1.0)
"""
PROGRAMS = {
    "deletes its folder": "import shutil; shutil.rmtree(os.getcwd())",
    "forks fifty": "for _ in range(50):\n    if os.fork() == 0: time.sleep(0.5); os._exit(0)",
    "closes everything": "print('end', flush=True); os.closerange(0, 4096); os._exit(0)",
    "prints no text": "os.write(1, b'\\xff\\x9b31m\\n' * 100); os.write(2, b'\\xff')",
    "becomes another user": "if os.getuid() == 0: os.setgid(65534); os.setuid(65534)",
    "removes the socket": "import shutil; shutil.rmtree(os.path.dirname(os.environ['TUILAB_WATCH']))",
    "has a folder for the socket": "a = os.environ['TUILAB_WATCH']; os.unlink(a); os.mkdir(a); open(a + '/x', 'w')",
    "ends by a code": "print('end', flush=True); os._exit(255)",
    "ends by a signal": "print('end', flush=True); os.kill(os.getpid(), 9)",
    "stops its watcher": "p = os.getppid(); os.kill(p, 19); time.sleep(0.7); os.kill(p, 18)",
    "ignores signals": "import signal; [signal.signal(n, signal.SIG_IGN) for n in range(1, 32) if n not in (9, 19)]",
    "says rubbish": "connect().sendall(os.urandom(100_000))",
    "says how long its rubbish is": "connect().sendall(struct.pack('>II', 2**32 - 1, 2**32 - 1))",
    "nests": "s = connect(); hello(s); tell(s, '', body=b'{\"kind\":\"steps\",\"x\":' + b'[' * 100_000)",
    "does not introduce itself": "tell(connect(), 'steps', now=1.0, cpu=1.0, calls=[[1, 2.0, 3.0, False]] * 1000)",
    "has absurd figures": (
        "s = connect(); hello(s)\n"
        "tell(s, 'function', number=1, name='\\x1b[31mx\\u202e' * 100, file='/etc/passwd', line=-1, own=True)\n"
        "for v in (1e308, -1e308, 1e-320, 0, -1):\n"
        "    tell(s, 'steps', now=v, cpu=v, calls=[[1, v, -v, True], [2**62, v, v, False]])\n"
        "    tell(s, 'window', b'x' * 10, start=v, end=-v, steps=-1)\n"
        "tell(s, 'end', now=-1e308, cpu=1e308)"
    ),
    "connects often": "many = [connect() for _ in range(200)]; [hello(s) for s in many]",
    "has many windows": (
        "s = connect(); hello(s)\n"
        "for k in range(1000): tell(s, 'window', b'x' * 20_000, start=k + 1.0, end=k + 1.4, steps=4)"
    ),
    "stops half way": "s = connect(); hello(s); s.sendall(struct.pack('>II', 1000, 0) + b'{')",
    "lies about itself": (
        "s = connect()\n"
        "for n in (0, -1, 1, 2**31, 2**63 - 1):\n"
        "    tell(s, 'hello', pid=n, parent=n, script='x' * 10_000, tensorflow='\\x1b[31m', now=1.0)"
    ),
    "prints much": "for _ in range(100): sys.stdout.write('x' * 100_000 + '\\n')",
    "has the page's name": "os.mkdir(sys.argv[1])",
}
FEW = 4
ESCAPE = re.compile("[\x1b\x9b\x07\u202e]")


def call(folder: Path, words: list[str]) -> subprocess.CompletedProcess[bytes]:
    settings = {**environment(folder / "data"), "TMPDIR": str(folder / "tmp")}
    (folder / "cwd").mkdir()
    return subprocess.run(
        words, cwd=folder / "cwd", env=settings, capture_output=True, timeout=120, start_new_session=True
    )


@linux
@pytest.mark.timeout(1_200)
def test_a_watched_program_ends_as_it_does_alone(tmp_path, long):  # noqa: F811
    chosen = list(PROGRAMS) if long else random.Random("32 programs").sample(list(PROGRAMS), FEW)
    lost = orphans = tracebacks = escapes = 0
    for name in part(chosen):
        folder = Path(tempfile.mkdtemp(dir=tmp_path))
        (folder / "tmp").mkdir()
        page, pages = folder / "page", folder / "page.json"
        file = folder / "program.py"
        file.write_text(f"{SAYS}{PROGRAMS[name]}\nprint('end', flush=True)\n")
        program = [sys.executable, "-I", "-S", str(file), str(page)]
        done = call(
            folder, [*TUILAB, "watch", "--plain", "-o", str(page), "--json", str(pages), "--", *program]
        )
        output = done.stderr.decode("utf-8", "replace")
        wanted = {"ends by a code": 255, "ends by a signal": -signal.SIGKILL, "has the page's name": 2}.get(
            name, 0
        )
        text = msgspec.json.decode(pages.read_bytes()) if pages.exists() else {}
        found = [
            done.returncode != wanted or b"end" not in done.stdout or not text,
            len(ours(str(file))) + len(os.listdir(folder / "tmp")),
            "Traceback" in output,
            bool(ESCAPE.search(output + (page.read_text() if page.is_file() else "") + str(text))),
        ]
        if any(found):
            print(name, done.returncode, found, output[-1_000:])
        lost, orphans, tracebacks, escapes = (
            a + b for a, b in zip((lost, orphans, tracebacks, escapes), found, strict=True)
        )
    figures = {"lost": lost, "orphans": orphans, "tracebacks": tracebacks, "escapes": escapes}
    table("hostile programs", programs=len(part(chosen)), **figures)
