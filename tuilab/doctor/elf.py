"""Reads the folders that a shared library tells the loader to search (System V ABI, dynamic section)."""

import os
import struct
from pathlib import Path
from typing import BinaryIO

PT_LOAD, PT_DYNAMIC = 1, 2
LIMIT = 1 << 20
"""Maximum number of bytes to read from one table of an ELF file, which may be damaged."""

DT_NULL, DT_STRTAB, DT_RPATH, DT_RUNPATH = 0, 5, 15, 29


def search_path(library: Path) -> tuple[Path, ...]:
    """Return the library's DT_RUNPATH, or else its DT_RPATH, with `$ORIGIN` resolved, without duplicates.

    Empty if the file is missing or not a 64-bit little-endian ELF.
    """
    try:
        with library.open("rb") as file:
            text = _run_path(file)
    except (OSError, ValueError, OverflowError, struct.error):
        return ()
    origin = str(library.parent)
    folders = [part.replace("${ORIGIN}", origin).replace("$ORIGIN", origin) for part in text.split(":")]
    return tuple(dict.fromkeys(Path(os.path.normpath(folder)) for folder in folders if folder))


def _run_path(file: BinaryIO) -> str:
    header = file.read(64)
    if header[:6] != b"\x7fELF\x02\x01":
        return ""
    (offset,) = struct.unpack_from("<Q", header, 32)
    size, count = struct.unpack_from("<HH", header, 54)
    segments = []
    for index in range(count):
        file.seek(offset + index * size)
        kind, _, at, address, _, length = struct.unpack("<IIQQQQ", file.read(40))
        segments.append((kind, at, address, length))
    dynamic = next(((at, length) for kind, at, _, length in segments if kind == PT_DYNAMIC), None)
    if dynamic is None:
        return ""
    file.seek(dynamic[0])
    entries = dict[int, int]()
    for tag, value in struct.iter_unpack("<qQ", file.read(min(dynamic[1], LIMIT) // 16 * 16)):
        if tag == DT_NULL:
            break
        entries.setdefault(tag, value)
    index = entries.get(DT_RUNPATH, entries.get(DT_RPATH, -1))
    table = entries.get(DT_STRTAB)
    if index < 0 or table is None:
        return ""
    for kind, at, address, length in segments:
        if kind == PT_LOAD and address <= table < address + length:
            file.seek(at + table - address + index)
            return _string(file)
    return ""


def _string(file: BinaryIO) -> str:
    text = file.read(LIMIT)
    return text.partition(b"\0")[0].decode(errors="replace")
