"""Tables of public API names, one a TensorFlow version, kept on disk: this process never imports it."""

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
    """Return the version of the installed TensorFlow by its package's metadata; "" where there is none."""
    for name in _DISTRIBUTIONS:
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return ""


def folder() -> Path:
    """Return the folder in which tables made by a worker are kept."""
    return Path(platformdirs.user_cache_dir("tuilab")) / "api"


def file_for(version: str) -> Path:
    """Return the file of one version's table. Raises ValueError for what is no version."""
    if not _VERSION.fullmatch(version):
        raise ValueError(f"{version!r} is not a version such as 2.21.0")
    return folder() / f"tensorflow-{version}.json.xz"


def pack(table: msgspec.Struct) -> bytes:
    """Return the table as it is stored."""
    return lzma.compress(msgspec.json.encode(table), preset=6)


def unpack(data: bytes) -> ApiTable | None:
    """Return a stored table, None where the bytes are none."""
    return unpacked(data, ApiTable)


def unpacked(data: bytes, kind: type[Stored]) -> Stored | None:
    """Return what was stored as that kind, None where the bytes are none."""
    try:
        decompressor = lzma.LZMADecompressor(memlimit=_LARGEST * 2)
        text = decompressor.decompress(data, max_length=_LARGEST)
        # A file that breaks off has lost its checksum too.
        if not decompressor.eof:
            return None
        return msgspec.json.decode(text, type=kind)
    except (*UNDECODED, lzma.LZMAError, EOFError, MemoryError):
        return None


def save(table: ApiTable) -> Path:
    """Keep a table that a worker made. Raises OSError where the folder cannot be written."""
    target = file_for(table.version)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(target, pack(table))
    return target


def load(version: str) -> ApiTable | None:
    """Return the table of that version: the one kept on this machine, else the shipped one, else None."""
    try:
        kept = unpack(read_regular(file_for(version), _LARGEST))
    except (InputError, ValueError):
        kept = None
    # A table of an older lab lacks what this one needs: a worker makes it again.
    if kept is not None and kept.version == version and kept.renames:
        return kept
    return shipped() if version == SHIPPED_VERSION else None


@lru_cache(maxsize=1)
def shipped() -> ApiTable:
    """Return the table of the pinned version, which the worker's own function made and the package ships."""
    return brought(f"tensorflow-{SHIPPED_VERSION}.json.xz", ApiTable)


def brought(name: str, kind: type[Stored]) -> Stored:
    """Return what a file of the package's own data holds."""
    found = unpacked(resources.files("tuilab.documents.api").joinpath("data", name).read_bytes(), kind)
    if found is None:
        raise RuntimeError(f"this installation's {name} is damaged; install tuilab again")
    return found


def for_installed() -> ApiTable | None:
    """Return the table of the installed TensorFlow, None where no worker has made one yet."""
    version = installed_version()
    return load(version) if version else None
