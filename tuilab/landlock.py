"""Restricts this process and all its children permanently, using Landlock in the Linux kernel.

Restricting files requires Linux 5.13; TCP, 6.7; signals and abstract sockets, 6.12. The restriction applies
to the calling thread and to threads that it starts later, so apply it before starting any thread. Uses only
the standard library.
"""

import ctypes
import os
import struct
import sys
from collections.abc import Iterable

_CREATE, _ADD, _RESTRICT, _NO_NEW_PRIVILEGES = 444, 445, 446, 38
_EXECUTE, _WRITE, _READ, _LIST, _REFER, _TRUNCATE = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 13, 1 << 14
_MAKE = sum(1 << bit for bit in range(4, 13))
"""Permission to create or remove a file, folder, link, socket or device."""
SEES = _EXECUTE | _READ | _LIST
KEEPS = _READ | _LIST | _WRITE | _MAKE | _REFER | _TRUNCATE
"""All permissions except to execute."""
USES = _READ | _LIST | _WRITE | _TRUNCATE
"""Permission to read and write existing files, but not to create any."""
_OF_FILES = _EXECUTE | _WRITE | _READ | _TRUNCATE
_TCP = _OUTSIDE = 1 << 0 | 1 << 1
"""Two bits each. `_TCP`: binding and connecting TCP sockets. `_OUTSIDE`: abstract sockets of outside
processes, and signals to them.
"""
_CAPABILITY_VERSION = 0x20080522
_BENEATH = 1


def version() -> int:
    return max(0, _libc().syscall(_CREATE, None, 0, 1)) if sys.platform == "linux" else 0


def restrict(rules: Iterable[tuple[str, int]]) -> None:
    """Restrict access to the given paths and permissions.

    A rule is a path and the permission for everything below the path: `SEES`, `KEEPS` or `USES`. Forbids TCP
    connections, and signals to outside processes. Skips missing paths. Raises OSError if the kernel refuses.
    """
    found, libc = version(), _libc()
    known = (SEES | KEEPS) & ~(_REFER if found < 2 else 0) & ~(_TRUNCATE if found < 3 else 0)
    words = [known, *([_TCP] if found >= 4 else []), *([_OUTSIDE] if found >= 6 else [])]
    asked = struct.pack(f"{len(words)}Q", *words)
    ruleset = _checked(libc.syscall(_CREATE, asked, len(asked), 0))
    for path, may in rules:
        try:
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue
        may &= known if os.path.isdir(path) else known & _OF_FILES
        _checked(libc.syscall(_ADD, ruleset, _BENEATH, struct.pack("=Qi", may, place), 0))
        os.close(place)
    _checked(libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    _checked(libc.syscall(_RESTRICT, ruleset, 0))
    os.close(ruleset)


def drop(capabilities: Iterable[int]) -> None:
    """Permanently drop the capabilities of this thread and of threads that it starts. Only root has
    capabilities.
    """
    libc, header, data = _libc(), struct.pack("=Ii", _CAPABILITY_VERSION, 0), ctypes.create_string_buffer(24)
    _checked(libc.capget(header, data))
    words = list(struct.unpack("=6I", data.raw))
    for number in capabilities:
        for kind in range(3):  # effective, permitted and inheritable sets
            words[3 * (number // 32) + kind] &= ~(1 << number % 32)
    _checked(libc.capset(header, struct.pack("=6I", *words)))


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"Landlock: {os.strerror(number)}")
    return result


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
