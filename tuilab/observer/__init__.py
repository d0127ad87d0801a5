"""The observer: what runs inside the watched program, in that program's Python. It knows nothing of the
lab."""

from pathlib import Path

FOLDER = Path(__file__).parent
"""The folder to put first on PYTHONPATH: Python runs its `sitecustomize` at the start."""
CAPTURE = FOLDER.parent / "captured.py"
"""What writes a function as a folder: loaded in the program, by its path, when a person asks for that."""
ADDRESS = "TUILAB_WATCH"
"""The variable that names the socket to which the observer tells what it sees."""
OPTIONS = "TUILAB_WATCH_OPTIONS"
"""The variable with the observer's settings: `every`, `window`, `share`, `once`, as `name=value` by
commas."""
