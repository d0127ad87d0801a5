"""`[tool.tuilab.check]` of a pyproject.toml: a project's settings for every check."""

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec

from tuilab.documents.api.versions import check_version
from tuilab.documents.rules import RULES
from tuilab.model.errors import InputError
from tuilab.model.files import read_regular
from tuilab.model.found import Severity
from tuilab.model.toml_text import toml_text

FILE = "pyproject.toml"
TABLE = "tool.tuilab.check"
LARGEST_FILE = 4_000_000
Target = Literal["auto", "1", "2"]


class CheckSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="kebab"):
    """Settings of a check. Keys in the table are the field names with dashes."""

    select: tuple[str, ...] = ()
    """Codes or prefixes (`TL1`) to report; empty for all."""
    ignore: tuple[str, ...] = ()
    """Codes or prefixes to skip, applied after `select`."""
    preview: bool = False
    """Whether to include preview rules, and claims in the prose."""
    fail_on: Severity = "error"
    """Minimum severity that makes the exit code 1."""
    level: Severity = "warning"
    """Minimum severity to print."""
    target: Target = "auto"
    """The major TensorFlow version for which the code was written; `auto` infers it."""
    tensorflow: str = ""
    """TensorFlow version whose names are used, such as `2.17`; "" means the version that a document installs,
    else the installed one."""
    exclude: tuple[str, ...] = ()
    """Patterns of paths to skip in folders."""
    baseline: str = ""
    """Path of the baseline, a file with known findings, relative to the pyproject.toml."""

    def selects(self, code: str) -> bool:
        chosen = not self.select or any(code.startswith(part) for part in self.select)
        return chosen and not any(code.startswith(part) for part in self.ignore)


def find(folder: Path) -> Path | None:
    """Return the nearest pyproject.toml with a `[tool.tuilab.check]` table, in the folder or above it."""
    for parent in (folder, *folder.parents):
        file = parent / FILE
        if file.is_file() and _table(file) is not None:
            return file
    return None


def load(file: Path) -> CheckSettings:
    """Return the settings in the table. Raises InputError, which names the file and the key."""
    table = _table(file)
    try:
        settings = msgspec.convert(table or {}, CheckSettings)
    except msgspec.ValidationError as error:
        raise InputError(f"{file} [{TABLE}]", "", f"a documented setting ({error})") from None
    check_codes(f"{file} [{TABLE}] select", settings.select)
    check_codes(f"{file} [{TABLE}] ignore", settings.ignore)
    check_version(f"{file} [{TABLE}] tensorflow", settings.tensorflow)
    return settings


def _table(file: Path) -> object | None:
    text = toml_text(read_regular(file, LARGEST_FILE), str(file))
    try:
        data: object = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(str(file), "", "TOML", f"not valid TOML: {error}") from None
    for key in TABLE.split("."):
        data = data.get(key) if isinstance(data, dict) else None
    return data


def check_codes(where: str, codes: Iterable[str]) -> None:
    """Raise InputError if a code matches no rule."""
    for code in codes:
        if not code or not any(rule.code.startswith(code) for rule in RULES):
            raise InputError(where, code, "codes of rules such as TL103, or prefixes such as TL1")
