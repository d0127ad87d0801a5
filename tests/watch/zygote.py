"""Imports TensorFlow and Keras, and forks a program for each line that it reads: python zygote.py

A line is a JSON object: `argv`, `environment`, `folder`, `output` (a file). The answer is the program's exit
code. The program runs as if started by Python, except that TensorFlow is already imported, which saves
several seconds of processor time.
"""

import faulthandler
import gc
import json
import os
import runpy
import sys
import traceback
from typing import NoReturn


def become(told: dict) -> NoReturn:
    """Run the program in the forked process, with the observer loaded first as `sitecustomize`."""
    out = os.open(told["output"], os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    os.dup2(out, 1)
    os.dup2(out, 2)
    faulthandler.enable(2)
    os.environ.clear()
    os.environ.update(told["environment"])
    os.chdir(told["folder"])
    sys.argv = told["argv"]
    sys.orig_argv = [sys.executable, *told["argv"]]
    sys.path[0] = os.path.dirname(os.path.abspath(told["argv"][0]))
    code = 0
    sys.path.insert(0, os.path.dirname(told["observer"]))
    runpy.run_path(told["observer"])
    main = type(sys)("__main__")
    main.__file__ = told["argv"][0]
    main.__dict__["__builtins__"] = __builtins__
    sys.modules["__main__"] = main
    try:
        with open(told["argv"][0]) as file:
            text = file.read()
        exec(compile(text, told["argv"][0], "exec"), main.__dict__)
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
        code = 1
    finally:
        import atexit

        atexit._run_exitfuncs()
        sys.stdout.flush()
        os._exit(code)


def serve() -> None:
    import keras
    import tensorflow  # noqa: F401

    keras.__version__  # noqa: B018 - the whole package is loaded
    gc.collect()
    gc.freeze()
    print("ready", flush=True)
    for line in sys.stdin:
        told = json.loads(line)
        pid = os.fork()
        if not pid:
            become(told)
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    serve()
