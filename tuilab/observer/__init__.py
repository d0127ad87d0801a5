"""The observer, which runs inside the watched program, in that program's Python. It is independent of
tuilab.
"""

from pathlib import Path

FOLDER = Path(__file__).parent
"""Folder to put first on PYTHONPATH, so that Python runs its `sitecustomize` at startup."""
CAPTURE = FOLDER.parent / "captured.py"
"""The module that writes a function to a folder. The program loads it by path when the user requests a
capture."""
ADDRESS = "TUILAB_WATCH"
"""Environment variable with the address of the socket that receives the observer's messages."""
OPTIONS = "TUILAB_WATCH_OPTIONS"
"""Environment variable with the observer's settings: `every`, `window`, `share`, `once`, as comma-separated
`name=value`."""
