"""The observer runs inside the watched program, in that program's Python. It imports nothing from tuilab."""

from pathlib import Path

FOLDER = Path(__file__).parent
"""Folder to put first on PYTHONPATH, so that Python runs its `sitecustomize` at startup."""
CAPTURE = FOLDER.parent / "captured.py"
"""Path of the module that saves a function to a folder."""
ADDRESS = "TUILAB_WATCH"
"""Environment variable with the address of the socket to which the observer sends its messages."""
OPTIONS = "TUILAB_WATCH_OPTIONS"
"""Environment variable with the observer's settings `every`, `window`, `share` and `once`, as comma-separated
`name=value`.
"""
