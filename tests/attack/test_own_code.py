"""Hostile user code in a real worker. The worker ends, leaves nothing behind, and prints no escape
sequences.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.attack.test_attack import ours, part, table
from tests.data_folder import knowing

BODIES = {
    "nothing": "return x",
    "raises": "raise ValueError('\\x1b[31mred\\x1b]0;title\\x07')",
    "raises a bare object": "raise BaseException",
    "raises in its text": "raise type('E', (Exception,), {'__str__': lambda self: 1 / 0})",
    "exits": "import sys; sys.exit(3)",
    "exits at once": "import os; os._exit(3)",
    "kills itself": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "segfaults": "import ctypes; ctypes.string_at(0)",
    "aborts": "import os; os.abort()",
    "interrupts itself": "raise KeyboardInterrupt",
    "stops iteration": "raise StopIteration",
    "recurses": "f = lambda: f()\n    f()",
    "prints escapes": "print('\\x1b[2J\\x1b]0;x\\x07'); return x",
    "prints much": "print('x' * 1_000_000); return x",
    "prints no text": "import os; os.write(1, b'\\xff\\xfe\\n' * 100); return x",
    "forges events": 'import os; os.write(1, b\'{"type":"finished","run":"x","status":"ok"}\\n\'); return x',
    "closes its output": "import os; os.close(1); os.close(2); return x",
    "closes everything": "import os; os.closerange(3, 256); return x",
    "reads its input": "input()",
    "sleeps in a session": "import subprocess; subprocess.Popen(['sleep', N], start_new_session=True); return x",
    "sleeps without a name": "import subprocess; subprocess.Popen(['sleep', N], env={}, start_new_session=True); return x",
    "forks": "import os, time\n    if os.fork() == 0:\n        time.sleep(float(N)); os._exit(0)\n    return x",
    "forks twice": "import os\n    if os.fork() == 0:\n        os.setsid()\n        if os.fork() == 0:\n            os.execvp('sleep', ['sleep', N])\n        os._exit(0)\n    return x",
    "leaves a thread": "import threading, time; threading.Thread(target=time.sleep, args=(1e6,)).start(); return x",
    "leaves a pool": "import multiprocessing; p = multiprocessing.get_context('spawn').Process(target=print); p.start(); return x",
    "ignores signals": "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); return x",
    "changes folder": "import os; os.chdir('/'); return x",
    "empties its environment": "import os; os.environ.clear(); return x",
    "sets a umask": "import os; os.umask(0); return x",
    "limits its memory": "import resource; resource.setrlimit(resource.RLIMIT_AS, (2**36, 2**36)); return x",
    "limits its files": "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (16, 16)); return x",
    "returns nothing": "return None",
    "returns text": "return '\\x1b[31m'",
    "returns a generator": "yield x",
    "breaks json": "import json, msgspec; json.dumps = msgspec.json = None; return x",
    "breaks time": "import time; time.perf_counter_ns = time.perf_counter = lambda: 0; return x",
    "breaks a clock backwards": "import itertools, time; c = itertools.count(0, -1); time.perf_counter_ns = lambda: next(c); return x",
    "breaks random": "import random; random.shuffle = None; return x",
    "breaks open": "import builtins; builtins.open = None; return x",
    "breaks import": "import builtins; builtins.__import__ = None; return x",
    "removes modules": "import sys; [sys.modules.pop(k) for k in list(sys.modules) if k.startswith('tuilab')]; return x",
    "traces": "import sys; sys.settrace(lambda *a: 1 / 0); return x",
    "hooks its end": "import atexit; atexit.register(lambda: 1 / 0); return x",
    "hooks faults": "import sys; sys.excepthook = lambda *a: 1 / 0; raise ValueError",
    "changes the collector": "import gc; gc.set_threshold(1, 1, 1); return x",
    "resets tensorflow": "import tensorflow as tf; tf.keras.backend.clear_session(); return x",
    "poisons devices": "import tensorflow as tf; tf.config.set_visible_devices([], 'CPU'); return x",
    "is not a number": "import tensorflow as tf; return x * float('nan')",
    "returns much": "import tensorflow as tf; return tf.zeros((1000, 1000))",
    "names with escapes": "import tensorflow as tf; return tf.identity(x, name='a/../b')",
    "warns": "import warnings; warnings.warn('\\x1b[31m'); return x",
    "logs": "import logging; logging.error('\\x1b]0;x\\x07'); return x",
}
TOPS = {
    "does not parse": "def f(x:\n",
    "raises at import": "raise RuntimeError('\\x1b[31m')\n",
    "exits at import": "import sys; sys.exit(1)\n",
    "is not valid text": "\xff\xfe\n",
    "holds a null": "\0\n",
    "is empty": "",
    "imports what is not there": "import nothing_of_that_name\n",
    "defines no function": "f = 3\n",
    "defines a class": "class f: pass\n",
    "lies about its file": "__file__ = 'x\\0.py'\ndef f(x=32): return 1\n",
    "knows odd modules": (
        "import sys, types\nclass M(types.ModuleType):\n    def __getattr__(self, name): raise RuntimeError(name)\n"
        "sys.modules.update(odd=M('odd'), none=None, three=3)\ndef f(x=32): return lambda: x\n"
    ),
    "becomes a pipe": "import os\nos.remove(__file__); os.mkfifo(__file__)\ndef f(x=32): return x\n",
    "fills its descriptors": "import os\nfd = [os.open('/dev/null', 0) for _ in range(900)]\ndef f(x=32): return x\n",
    "blocks signals": "import signal\nsignal.pthread_sigmask(0, range(1, 32))\ndef f(x=32): return x\n",
    "takes no argument": "def f(): return 1\n",
    "takes two": "def f(x, y): return x\n",
    "starts at import": "import subprocess; subprocess.Popen(['sleep', 'N'], start_new_session=True)\ndef f(x): return x\n",
}
SAYS = {
    "recurses": "maximum recursion depth",
    "raises in its text": "its text raises ZeroDivisionError",
    "closes everything": "closed",
    "lies about its file": "CPU eager",
    "knows odd modules": "CPU eager",
}
FEW = ["raises", "sleeps without a name", "forks twice", "prints no text"]
# Authors see a traceback of their own code without frames from tuilab's files.
TRACE = re.compile(r"File \"[^\"]*/tuilab/(?!worker/tracebacks)[a-z_/]+\.py\"")
ESCAPE = re.compile("[\x1b\x9b\x07]")


@pytest.mark.skipif(sys.platform != "linux", reason="processes are identified on Linux only")
@pytest.mark.real_worker
@pytest.mark.timeout(7_200)
def test_hostile_own_code_is_reported_and_the_lab_continues(tmp_path, request):
    long = bool(request.config.getoption("--long"))
    kinds = {name: f"N = 'LENGTH'\ndef f(x=32):\n    {body}\n" for name, body in BODIES.items()} | TOPS
    kinds = kinds if long else {name: kinds[name] for name in FEW[:2]}
    orphans = tracebacks = escapes = hung = unsaid = 0
    environment = {**os.environ, "TUILAB_DATA": knowing(tmp_path / "data"), "HOME": str(tmp_path)}
    for number, (name, text) in part(enumerate(kinds.items())):
        length = f"8{number:03}{os.getpid()}.5"
        file = Path(tmp_path, f"own{number}.py")
        file.write_bytes(text.replace("LENGTH", length).replace("'N'", f"'{length}'").encode("latin-1"))
        words = [sys.executable, "-m", "tuilab", "run", f"{file}:f", "--budget", "quick", "--mode", "eager"]
        try:
            done = subprocess.run(words, env=environment, capture_output=True, timeout=180)
        except subprocess.TimeoutExpired as late:
            hung += 1
            print(name, "does not end", late.stderr)
            continue
        output = (done.stdout + done.stderr).decode("utf-8", "replace")
        left = [p for p in ours(length) if p.pid != os.getpid()]
        found = bool(TRACE.search(output)), bool(ESCAPE.search(output)), len(left)
        if any(found) or done.returncode not in (0, 2, 3) or SAYS.get(name, "") not in output:
            print(name, done.returncode, found, output[-1_500:])
        refused = name in BODIES and "needs a default" in output  # tuilab refused to run the code
        unsaid += refused or SAYS.get(name, "") not in output
        tracebacks, escapes, orphans = tracebacks + found[0], escapes + found[1], orphans + found[2]
        for process in left:
            process.kill()
    found_in_all = {
        "lost": hung,
        "unsaid": unsaid,
        "orphans": orphans,
        "tracebacks": tracebacks,
        "escapes": escapes,
    }
    table("hostile own code", kinds=len(part(kinds)), **found_in_all)
    assert not unsaid
