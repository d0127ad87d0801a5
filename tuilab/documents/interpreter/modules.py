"""Interprets the modules next to a document as Python would run them on import, but never imports them."""

import sys
from functools import lru_cache
from pathlib import Path

from tuilab.documents.interpreter.interpreter import STEPS, STEPS_PER_NODE, Interpreter
from tuilab.documents.interpreter.scope import Scope
from tuilab.documents.interpreter.values import Api, Known, Module, Unknown, Value
from tuilab.documents.reading.decode import decode
from tuilab.documents.reading.parse import Parsed, parse
from tuilab.model.errors import InputError
from tuilab.model.files import read_regular

# Maximum number of neighboring modules per document, and maximum size of each in bytes.
MOST_MODULES, LARGEST_MODULE = 16, 200_000
_LIBRARIES = sys.stdlib_module_names | {
    *("tensorflow", "keras", "numpy", "scipy", "torch", "jax", "pandas", "matplotlib", "sklearn", "cv2"),
    *("PIL", "tqdm", "pytest", "cupy", "numba", "absl", "tensorflow_datasets", "tensorflow_probability"),
}


def imported(interpreter: Interpreter, dotted: str, level: int, line: int) -> Module | None:
    """Return the neighboring module with that name; None if there is none, or if the name belongs to a
    library. level: number of leading dots of a relative import; 0 for an absolute import.
    """
    if interpreter.folder is None or (not level and dotted.partition(".")[0] in _LIBRARIES):
        return None
    base = interpreter.folder if not level else interpreter.beside
    for _ in range(level - 1):
        base = base.parent
    parts = dotted.split(".") if dotted else []
    found = _module(interpreter, base.joinpath(*parts), line)
    if found is None and not level and len(parts) > 1 and parts[0] == interpreter.folder.resolve().name:
        # The module's name starts with the name of this folder, so the folder is itself a package.
        found = _module(interpreter, base.joinpath(*parts[1:]), line)
    return found


def member(interpreter: Interpreter, module: Module, name: str, line: int) -> Value | None:
    """Return the module's value or submodule with this name; None if it has neither."""
    found: Value | None = module.scope.names.get(name)
    if found is None and module.package is not None:
        found = _module(interpreter, module.package / name, line)
    return found


def unread(module: Module, name: str, line: int) -> Value:
    if module.name in _LIBRARIES or module.name in _SHORT:
        return Unknown(f"{module.name} does not define {name}", line)
    return Api(f"{module.name}.{name}")


# Prefixes that mark names of libraries.
_SHORT = ("tf", "np", "rng", "builtins")


def _module(interpreter: Interpreter, path: Path, line: int) -> Module | None:
    if path in interpreter.modules:
        return interpreter.modules[path]
    file = next((f for f in (path.with_name(path.name + ".py"), path / "__init__.py") if f.is_file()), None)
    package = path if path.is_dir() else None
    if file is None and package is None:
        return None
    outer = interpreter.module.parent
    scope = Scope({"__name__": Known(path.name)}, Scope(dict(outer.names) if outer else {}))
    made = interpreter.modules[path] = Module(path.name, scope, package)
    parsed = _parsed(file) if file is not None and len(interpreter.modules) <= MOST_MODULES else None
    if file is None or parsed is None:
        return made if package is not None else None
    interpreter.kept.append(parsed)
    interpreter.steps += min(STEPS, STEPS_PER_NODE * parsed.size)
    interpreter.yields = interpreter.yields or parsed.yields
    first, beside = len(interpreter.trace.regions), interpreter.beside
    interpreter.beside = file.parent
    with interpreter.reading(file.name, line):
        interpreter.execute(parsed.statements, scope)
    interpreter.beside = beside
    for region in interpreter.trace.regions[first:]:
        # This module's timings are reported when the module itself is checked.
        region.discarded = True
    return made


def _parsed(file: Path) -> Parsed | None:
    try:
        found = file.stat()
        return _read(file, found.st_mtime_ns, found.st_size)
    except (OSError, InputError):
        return None


@lru_cache(128)
def _read(file: Path, changed: int, size: int) -> Parsed:
    """Return the statements of a module. changed, size: the file's modification time and size; as part of the
    cache key, they cause a changed file to be read again.
    """
    return parse(decode(read_regular(file, LARGEST_MODULE)).split("\n"), 1)
