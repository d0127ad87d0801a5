"""Stores tables of TensorFlow's API on disk, one per version, because this process never imports
TensorFlow.
"""

import lzma
import re
from functools import lru_cache
from importlib import metadata, resources
from pathlib import Path
from typing import TypeVar

import msgspec
import platformdirs

from tuilab.model.api import ApiTable
from tuilab.model.errors import UNDECODED, InputError
from tuilab.model.files import read_regular, write_bytes

SHIPPED_VERSION = "2.21.0"
Stored = TypeVar("Stored", bound=msgspec.Struct)
_VERSION = re.compile(r"[0-9][0-9A-Za-z.+_-]{0,40}")
_LARGEST = 64_000_000
_DISTRIBUTIONS = ("tensorflow", "tensorflow-cpu", "tensorflow-rocm", "tf-nightly", "tensorflow-macos")


def installed_version() -> str:
    """Return the installed TensorFlow's version from its metadata; "" if TensorFlow is not installed."""
    for name in _DISTRIBUTIONS:
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return ""


def folder() -> Path:
    return Path(platformdirs.user_cache_dir("tuilab")) / "api"


def file_for(version: str) -> Path:
    """Return the path of the table for a version. Raises ValueError unless `version` looks like `2.21.0`."""
    if not _VERSION.fullmatch(version):
        raise ValueError(f"{version!r} is not a version such as 2.21.0")
    return folder() / f"tensorflow-{version}.json.xz"


def pack(table: msgspec.Struct) -> bytes:
    return lzma.compress(msgspec.json.encode(table), preset=6)


def unpack(data: bytes) -> ApiTable | None:
    return unpacked(data, ApiTable)


def unpacked(data: bytes, kind: type[Stored]) -> Stored | None:
    try:
        decompressor = lzma.LZMADecompressor(memlimit=_LARGEST * 2)
        text = decompressor.decompress(data, max_length=_LARGEST)
        # A truncated file lacks its checksum.
        if not decompressor.eof:
            return None
        return msgspec.json.decode(text, type=kind)
    except (*UNDECODED, lzma.LZMAError, EOFError, MemoryError):
        return None


def save(table: ApiTable) -> Path:
    """Save a table that a worker made. Raises OSError if the file cannot be written."""
    target = file_for(table.version)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(target, pack(table))
    return target


def load(version: str) -> ApiTable | None:
    """Return the saved table for the version, or else the shipped one; None if neither exists."""
    try:
        kept = unpack(read_regular(file_for(version), _LARGEST))
    except (InputError, ValueError):
        kept = None
    # A table from an older tuilab lacks fields that this version needs, so a worker creates a new table.
    if kept is not None and kept.version == version and kept.renames:
        return kept
    return shipped() if version == SHIPPED_VERSION else None


@lru_cache(maxsize=1)
def shipped() -> ApiTable:
    """Return the table that tuilab ships, which is for the pinned version of TensorFlow."""
    return brought(f"tensorflow-{SHIPPED_VERSION}.json.xz", ApiTable)


def brought(name: str, kind: type[Stored]) -> Stored:
    """Decode a data file of this package. Raises RuntimeError if the file is damaged."""
    found = unpacked(resources.files("tuilab.documents.api").joinpath("data", name).read_bytes(), kind)
    if found is None:
        raise RuntimeError(f"this installation's {name} is damaged; install tuilab again")
    return found


def for_installed() -> ApiTable | None:
    """Return the table for the installed TensorFlow; None if TensorFlow is not installed, or if its version
    has no table yet.
    """
    version = installed_version()
    return load(version) if version else None
