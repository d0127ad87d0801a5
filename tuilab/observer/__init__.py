"""What goes into somebody's own program: the file beside this one, in that program's Python. It knows nothing
of the lab."""

from pathlib import Path

FOLDER = Path(__file__).parent
"""To be put first on PYTHONPATH: Python runs `sitecustomize` of it at its start."""
CAPTURE = FOLDER.parent / "captured.py"
"""What writes a function as a folder: loaded in the program, by its path, when a person asks for that."""
ADDRESS = "TUILAB_WATCH"
"""The variable that names the socket to which the observer tells what it sees."""
OPTIONS = "TUILAB_WATCH_OPTIONS"
"""The variable with the observer's settings: `every`, `window`, `share`, `once`, as `name=value` by
commas."""
