"""Interprets a user's words as a `Subject`, or rejects them."""

import ast
import os
import shlex
from pathlib import Path

from tuilab.lab.files import WATCH
from tuilab.model.errors import InputError
from tuilab.model.files import expanded, open_regular, read_regular
from tuilab.model.subject import (
    MODEL_FILES,
    Article,
    Code,
    Model,
    NamedPreset,
    PresetFile,
    Program,
    Recording,
    Script,
    Subject,
)

CHECK = "check "
"""Prefix that the user types before a path to check the file as an article, even if the file is also a
program or a preset.
"""
GRAPH = "saved_model.pb"
MOST_CODE = 10_000_000
"""Maximum size of a Python file, in bytes."""
MOST_NAMES = 8
"""Maximum number of names listed in an error message."""


def resolve(words: str) -> Subject:
    """Return the subject that the words name, without running any file.

    Raises InputError if a Python file or a model file is missing or does not define the requested name.
    """
    if words.startswith(WATCH):
        return _program(words.removeprefix(WATCH))
    if words.startswith(CHECK):
        return Article(words.removeprefix(CHECK))
    if ".py " in words and not _exists(words):
        return _program(words)
    if ".py:" in words:
        return _code(words)
    if words.lower().endswith(MODEL_FILES) or _is_model_folder(words):
        return _model(words)
    match Path(words).suffix.lower():
        case ".toml":
            return PresetFile(words)
        case ".jsonl":
            return Recording(words)
        case ".py":
            return Script(words)
    return Article(words) if _is_path(words) else NamedPreset(words)


def _program(words: str) -> Program:
    """Split the words as a shell would, unless they are the path of a file. Raises InputError."""
    try:
        path, *arguments = [words] if _exists(words) else shlex.split(words) or [words]
    except ValueError as error:
        what = f"cannot be split into a program and its arguments: {error}"
        raise InputError(words, words, "a program and its arguments", what) from None
    return Program(path, tuple(arguments))


def _exists(words: str) -> bool:
    return os.path.exists(expanded(words))


def _is_path(words: str) -> bool:
    try:
        return "/" in words or bool(Path(words).suffix) or expanded(words).exists()
    except (OSError, ValueError):
        return True


def _is_model_folder(words: str) -> bool:
    """Return True if the words name a folder that exists and either contains a SavedModel or is written with
    a slash.
    """
    folder = _folder(words)
    try:
        return folder.is_dir() and ("/" in words or (folder / GRAPH).exists())
    except (OSError, ValueError):
        return False


def _folder(words: str) -> Path:
    whole = expanded(words)
    try:
        return whole if whole.is_dir() else expanded(words.rpartition(":")[0] or words)
    except (OSError, ValueError):
        return whole


def _code(words: str) -> Code:
    path, _, name = words.rpartition(":")
    place = expanded(path).resolve()
    names = top_names(_module(words, place))
    if names is not None and name.partition(".")[0] not in names:
        there = ", ".join(sorted(n for n in names if not n.startswith("_"))[:MOST_NAMES]) or "nothing"
        raise InputError(words, name, f"a name defined in {place.name}: {there}")
    return Code(str(place), name)


def _model(words: str) -> Model:
    if words.lower().endswith(MODEL_FILES) and not expanded(words).is_dir():
        open_regular(expanded(words)).close()
        return Model(str(expanded(words).resolve()))
    folder = _folder(words)
    if not (folder / GRAPH).exists():
        raise InputError(words, "a folder", f"a folder with {GRAPH}, as written by tf.saved_model.save")
    signature = "" if expanded(words) == folder else words.rpartition(":")[2]
    return Model(str(folder.resolve()), signature)


def refuse(words: str, subject: Subject) -> InputError:
    """Return the error for a subject that is not a preset. The error names the kind of subject and the right
    command. Raises InputError if the file cannot be read.
    """
    if isinstance(subject, Script):
        named = ", ".join(f"{words}:{function}" for function in list(functions(words))[:MOST_NAMES])
        ways = [f"one of its functions ({named})"] * bool(named)
        ways += [f"as a whole program: tuilab watch {words}"] * (does_something(words) or not named)
        chosen = ", or ".join(ways)
        message = f"name {chosen}" if named else f"run it {chosen}"
        return InputError(words, "a file without a function's name", chosen, message)
    if isinstance(subject, Article) and not words.startswith(CHECK):
        open_regular(expanded(words)).close()
    what, command = {
        Recording: ("a recording", f"tuilab --replay {words}"),
        Program: ("a program", f"tuilab watch {words.removeprefix(WATCH)}"),
        Article: ("an article", f"tuilab check {words.removeprefix(CHECK)}"),
        Code: ("own code", f"tuilab run {words}"),
        Model: ("a model", f"tuilab run {words}"),
    }[type(subject)]
    return InputError(words, what, f"a preset; for {what}: {command}")


def functions(name: str) -> dict[str, str]:
    """Return descriptions of a file's public functions, by name. Does not run the file. Raises InputError.

    Functions that need arguments come last; their description lists these arguments.
    """
    module = _module(name, expanded(name))
    ready: dict[str, str] = {}
    lacking: dict[str, str] = {}
    for node in module.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            named = [arg.arg for arg in (*node.args.posonlyargs, *node.args.args)]
            bare = named[: len(named) - len(node.args.defaults)]
            if bare:
                lacking[node.name] = f"called with {', '.join(bare)}"
            else:
                ready[node.name] = (ast.get_docstring(node) or "").partition("\n")[0]
    return ready | lacking


def does_something(name: str) -> bool:
    """Return True if running the file does more than define and import names. Does not run the file. Raises
    InputError.
    """
    silent = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Assign)
    return any(
        not isinstance(node, (*silent, ast.AnnAssign))
        and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        for node in _module(name, expanded(name)).body
    )


def _module(name: str, place: Path) -> ast.Module:
    code = read_regular(place, MOST_CODE)
    try:
        return ast.parse(code)
    except SyntaxError as error:
        words = f"line {error.lineno} is not valid Python: {error.msg}"
        raise InputError(name, error.lineno, "valid Python", words) from None
    except (ValueError, RecursionError, MemoryError) as error:
        words = f"is not valid Python: {str(error) or type(error).__name__}"
        raise InputError(name, type(error).__name__, "valid Python", words) from None


def top_names(module: ast.Module) -> set[str] | None:
    """Return the names that a module defines; None if they cannot be determined without running the
    module.
    """
    names: set[str] = set()
    waiting: list[ast.AST] = [module]
    while waiting:
        node = waiting.pop()
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                if node.name == "__getattr__":
                    return None
                names.add(node.name)
                continue
            case ast.Lambda():
                continue
            case ast.Import() | ast.ImportFrom():
                if any(alias.name == "*" for alias in node.names):
                    return None
                names |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
            case ast.Name(ctx=ast.Store()):
                names.add(node.id)
            case ast.Name(id="globals" | "locals" | "vars" | "exec" | "setattr"):
                return None
        waiting += ast.iter_child_nodes(node)
    return names
