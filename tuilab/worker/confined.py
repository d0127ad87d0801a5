"""Runs a module under the confinement that is used for opening models: `python -m tuilab.worker.confined
MODULE [ARGUMENT…]`.
"""

import json
import os
import runpy
import sys

from tuilab.model.requests import CONFINE
from tuilab.worker.confinement import confine_if_asked

if __name__ == "__main__":
    os.environ[CONFINE] = json.dumps([""])  # grant no access to a model, data or code
    confine_if_asked()
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
