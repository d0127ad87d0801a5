"""The user's own keys, from `keymap.toml` in the configuration folder.

[keys] run = "r,f5" "slider.less" = "left,h"
"""

import difflib
import os
import tomllib
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from tuilab.model.errors import InputError
from tuilab.model.files import read_regular
from tuilab.model.sanitize import sanitize_line
from tuilab.model.toml_text import toml_text

LARGEST = 100_000


def default_path() -> Path:
    import platformdirs

    return Path(platformdirs.user_config_dir("tuilab")) / "keymap.toml"


def read(path: Path, known: Callable[[], Collection[str]]) -> tuple[dict[str, str], list[str]]:
    """Return the keys by action, and a sentence for each error in the file; both are empty if there is no
    file.

    known: returns the ids of all actions; only called if the file exists.
    """
    shown = sanitize_line(str(path), 300)
    try:
        os.lstat(path)  # a broken or circular link is not a missing file
        data = tomllib.loads(toml_text(read_regular(path, LARGEST), shown))
    except (FileNotFoundError, NotADirectoryError):
        return {}, []
    except InputError as error:
        return {}, [f"{shown}: could not be read: {error.value}; expected {error.expected}"]
    except OSError as error:
        return {}, [f"{shown}: could not be read: {error.strerror}"]
    except (ValueError, RecursionError) as error:
        return {}, [f"{shown}: not valid TOML: {sanitize_line(str(error), 200)}"]
    keys = data.get("keys", {})
    problems = [
        f"{shown}: {sanitize_line(key, 60)}: expected one table, [keys]" for key in data if key != "keys"
    ]
    if not isinstance(keys, Mapping):
        return {}, [f'{shown}: keys: expected a table of action = "keys"']
    chosen: dict[str, str] = {}
    ids = known() if keys else ()
    for name, value in keys.items():
        problem = _problem(name, value, ids)
        if problem:
            problems.append(f"{shown}: keys.{sanitize_line(name, 60)}: {problem}")
        else:
            chosen[name] = ",".join(key.strip() for key in value.split(","))
    return chosen, problems + [f"{shown}: {twice}" for twice in clashes(chosen)]


def _problem(name: str, value: object, ids: Collection[str]) -> str:
    if name not in ids:
        near = difflib.get_close_matches(name, list(ids), 1)
        return "unknown action" + (f"; did you mean {near[0]}?" if near else "")
    if not isinstance(value, str) or not value.strip():
        return f'got {sanitize_line(repr(value), 60)}; expected keys such as "r" or "r,f5"'
    for key in value.split(","):
        word = key.strip()
        if not word or len(word) > 40 or not word.isprintable() or " " in word:
            return f"got the key {sanitize_line(repr(key), 60)}; expected a key such as r, R, f5 or ctrl+r"
    return ""


def clashes(chosen: Mapping[str, str]) -> list[str]:
    """Return a sentence for each key assigned to two actions with the same prefix, such as `slider`."""
    owner: dict[tuple[str, str], str] = {}
    out = []
    for name, keys in chosen.items():
        place = name.partition(".")[0] if "." in name else ""
        for key in keys.split(","):
            other = owner.setdefault((place, key), name)
            if other != name:
                out.append(f"the key {key} is assigned to both {other} and {name}; {other} keeps it")
    return out
