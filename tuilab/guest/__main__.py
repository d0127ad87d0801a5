"""Runs a tuilab module in a Python without tuilab: `python …/tuilab/guest MODULE ARGUMENTS`.

Finds tuilab's modules by path. NumPy and TensorFlow come from the environment. msgspec comes from tuilab's
own installation if its compiled part fits this Python, else the substitute `structs` replaces it; only
tuilab's modules see it. psutil comes from tuilab's installation if the environment lacks it. Also provides
features that Python 3.9 lacks. Nothing is added to `sys.path`, so user code finds exactly what its
environment contains.

This file runs in Python 3.9 and later, before any tuilab module can be imported.
"""

import dataclasses
import importlib.machinery
import importlib.util
import os
import sys
from types import ModuleType
from typing import Any, Optional

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
OLDEST = (3, 9)

LENT: "dict[str, ModuleType]" = {}
"""Modules that only tuilab's modules can import, by name: the "lent" modules."""
GIVEN: "dict[str, Any]" = {}
"""Replacements for builtins. Only tuilab's modules see them."""


class Loader(importlib.machinery.SourceFileLoader):
    """Loads a tuilab module, whose imports find the modules in `LENT` first."""

    def source_to_code(self, data: Any, path: Any, *, _optimize: int = -1) -> Any:  # type: ignore[override]
        """Compile a module. Annotations stay unevaluated if this Python cannot evaluate `X | Y`."""
        if sys.version_info >= (3, 10):
            return super().source_to_code(data, path)
        import __future__

        return compile(data, path, "exec", __future__.annotations.compiler_flag, True, _optimize)

    def exec_module(self, module: ModuleType) -> None:
        """Run the module while the modules in `LENT` replace the environment's modules of the same names."""
        before = {name: sys.modules.get(name) for name in LENT}
        sys.modules.update(LENT)
        vars(module).update(GIVEN)
        try:
            super().exec_module(module)
        finally:
            for name, other in before.items():
                if other is None:
                    sys.modules.pop(name, None)
                else:
                    sys.modules[name] = other


class Program(Loader):
    """Loads the main program's module without replacing the environment's modules with those in `LENT`."""

    def exec_module(self, module: ModuleType) -> None:
        importlib.machinery.SourceFileLoader.exec_module(self, module)


class Finder:
    @staticmethod
    def find_spec(
        name: str, path: Any = None, target: Any = None
    ) -> "Optional[importlib.machinery.ModuleSpec]":
        if name != "tuilab" and not name.startswith("tuilab."):
            return None
        place = os.path.join(ROOT, *name.split(".")[1:])
        package, file = os.path.join(place, "__init__.py"), place + ".py"
        if os.path.isfile(package):
            loader = Loader(name, package)
            return importlib.util.spec_from_file_location(
                name, package, loader=loader, submodule_search_locations=[place]
            )
        found = os.path.isfile(file)
        return (
            importlib.util.spec_from_file_location(name, file, loader=Loader(name, file)) if found else None
        )


def load(name: str, file: str, loader: Any = None) -> ModuleType:
    """Load a module from its file, or a package from its `__init__.py`, into `sys.modules`."""
    inside = [os.path.dirname(file)] if os.path.basename(file) == "__init__.py" else None
    spec = importlib.util.spec_from_file_location(
        name, file, loader=loader, submodule_search_locations=inside
    )
    if spec is None or spec.loader is None:
        raise ImportError(file)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def taken_out(package: str) -> "dict[str, ModuleType]":
    names = [name for name in sys.modules if name.partition(".")[0] == package]
    return {name: sys.modules.pop(name) for name in names}


def lend_msgspec(place: str) -> None:
    """Put msgspec into `LENT`: tuilab's own copy if its compiled part fits this Python, else the substitute
    `structs`.
    """
    own = taken_out("msgspec")
    try:
        load("msgspec", os.path.join(place, "__init__.py"))
        LENT.update(taken_out("msgspec"))
    except (ImportError, OSError):
        taken_out("msgspec")
        substitute = load("tuilab_structs", os.path.join(HERE, "structs.py"))
        LENT["msgspec"] = substitute
        # `from msgspec.structs import …` finds the module here.
        for name in ("structs", "json"):
            inside = LENT[f"msgspec.{name}"] = ModuleType(f"msgspec.{name}")
            of = getattr(substitute, name)
            vars(inside).update({each: getattr(of, each) for each in vars(of) if each[0] != "_"})
    finally:
        sys.modules.update(own)


def find_psutil(place: str) -> None:
    """Find psutil in the environment, or else in tuilab's installation. Exits with advice if neither can
    be loaded.
    """
    try:
        import psutil  # noqa: F401
    except ImportError:
        try:
            load("psutil", os.path.join(place, "__init__.py"))
        except (ImportError, OSError) as error:
            taken_out("psutil")
            python = ".".join(map(str, sys.version_info[:2]))
            sys.exit(
                f"psutil is missing for Python {python} ({sys.implementation.cache_tag}): {error}. "
                f"Run `{sys.executable} -m pip install psutil`, or start the lab with Python {python}"
            )


def backports() -> None:
    """Provide features that Python 3.9 lacks. Only tuilab's modules see them, except for `sys.orig_argv`."""

    def strict_zip(*several: Any, strict: bool = False) -> Any:
        lists = [list(one) for one in several] if strict else several
        if strict and len({len(one) for one in lists}) > 1:
            raise ValueError("zip() arguments have different lengths")
        return zip(*lists)

    def dataclass(cls: Any = None, *, slots: bool = False, kw_only: bool = False, **options: Any) -> Any:
        if cls is None:
            return lambda later: dataclass(later, kw_only=kw_only, **options)
        if kw_only:  # keyword arguments have no order, so fields without a default may come first
            every = vars(cls).get("__annotations__", {})
            cls.__annotations__ = dict(sorted(every.items(), key=lambda field: hasattr(cls, field[0])))
        return dataclasses.dataclass(**options)(cls)

    other = ModuleType("dataclasses")
    vars(other).update(vars(dataclasses), dataclass=dataclass)
    LENT["dataclasses"] = other
    GIVEN["zip"] = strict_zip
    sys.orig_argv = [sys.executable, *sys.argv]


def main() -> None:
    if sys.version_info < OLDEST:
        sys.exit(
            "Python {}.{} is older than 3.9, the oldest version that can be measured".format(
                *sys.version_info[:2]
            )
        )
    # Python put this folder first in `sys.path`, where its modules would hide others.
    sys.path[:] = [place for place in sys.path if os.path.abspath(place or ".") != HERE]
    if sys.version_info < (3, 10):
        backports()
    places = {
        os.path.basename(place): place for place in os.environ.get("TUILAB_COMPILED", "").split(os.pathsep)
    }
    lend_msgspec(places.get("msgspec", ""))
    find_psutil(places.get("psutil", ""))
    sys.meta_path.insert(0, Finder)
    del sys.argv[0]
    wanted = Finder.find_spec(sys.argv[0])
    if wanted is not None and wanted.submodule_search_locations is not None:
        wanted = Finder.find_spec(sys.argv[0] + ".__main__")
    if wanted is None or wanted.origin is None:
        sys.exit(f"the lab has no module {sys.argv[0]}")
    sys.argv[0] = wanted.origin
    # Load the program without the lent modules: it imports none of them, and user code must not see them.
    load("__main__", wanted.origin, Program("__main__", wanted.origin))


if __name__ == "__main__":
    main()
