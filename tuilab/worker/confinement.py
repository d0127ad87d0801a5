"""Confines this process before it opens an untrusted model file.

A confined process and its children write only to their scratch folder, read only the software and the model,
and open no TCP connections.
"""

import contextlib
import glob
import json
import os
import re
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tuilab import guest, landlock
from tuilab.model.requests import CONFINE
from tuilab.worker.temporary import process_folder

HELD = "TUILAB_HELD"
"""Environment variable with the scope of a confined process: the model, data and code that it may read."""

_SYSTEM = (
    *("/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/opt", "/nix/store", "/gnu/store", "/proc"),
    *("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload", "/etc/localtime"),
    *("/etc/ssl/openssl.cnf", "/etc/pki/tls/openssl.cnf", "/etc/crypto-policies", "/etc/nsswitch.conf"),
    *("/sys", "~/.keras/keras.json", "~/.nv/ComputeCache"),
)
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_GPUS = ("/dev/nvidia*", "/dev/dri", "/dev/kfd", "/dev/dxg")
_SHARED = "/dev/shm"
"""CUDA shares memory between processes in this folder."""
_THREADS = "/proc/self/task"
"""CUDA writes the names of its threads here, and fails to start (error 304) if it cannot. The access rule
covers only this process's own entry, so a forked child could not start CUDA. Therefore every worker that uses
a GPU starts unconfined and confines itself.
"""
_OVER_OTHERS = (16, 17, 19, 21, 22, 24, 27, 38, 39, 40)
"""Capabilities over other processes and the kernel: SYS_MODULE, SYS_RAWIO, SYS_PTRACE, SYS_ADMIN, SYS_BOOT,
SYS_RESOURCE, MKNOD, PERFMON, BPF, CHECKPOINT_RESTORE. With PERFMON or SYS_ADMIN, root can read the
environment of any process; with SYS_RESOURCE, root can exempt a process from being killed for its memory.
"""
_PATHS = (
    *("LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONPYCACHEPREFIX", "CUDA_HOME", "CUDA_PATH"),
    *("TF_PLUGGABLE_DEVICE_LIBRARY_PATH", guest.FOLDER, guest.COMPILED),
)
"""Environment variables with paths of software that a confined process may read."""


def confined_scope() -> str:
    """Return the scope of this process, in the format of `confined_to`; "" if the process is not confined."""
    return os.environ.get(HELD, "")


def confine_if_asked() -> None:
    """Confine this process if the variable `CONFINE` requests it. Does nothing if the kernel lacks Landlock.

    Call before any thread starts. Raises OSError if the kernel refuses.
    """
    told = os.environ.pop(CONFINE, "")
    if confined_scope():
        _pin_threads()
        return
    if not told or not landlock.version():
        return
    scratch = str(process_folder() or tempfile.mkdtemp(prefix="tuilab-"))
    os.environ["TMPDIR"] = tempfile.tempdir = scratch
    gpus = [path for pattern in _GPUS for path in glob.glob(pattern)]
    _pin_threads()
    landlock.restrict(
        [
            (scratch, landlock.KEEPS),
            *((_SHARED, landlock.KEEPS) for _ in gpus[:1]),
            *((path, landlock.USES) for path in (*_DEVICES, *gpus)),
            *((_THREADS, landlock.USES) for _ in gpus[:1]),
            *(
                (path, landlock.SEES)
                for path in dict.fromkeys((*_software(), *_opened_paths(json.loads(told))))
            ),
        ]
    )
    landlock.drop(_OVER_OTHERS)
    os.environ[HELD] = told


def _pin_threads() -> None:
    """Keep the folder of threads open.

    An access rule applies to an inode. When memory is short, the kernel drops unused inodes of `/proc` and
    later creates new ones, to which no rule applies.
    """
    with contextlib.suppress(OSError):
        os.open(_THREADS, os.O_PATH | os.O_CLOEXEC)


def _opened_paths(scope: Sequence[str]) -> list[str]:
    """Return the paths of the model, its data, its code folder and the Hugging Face cache's blobs. The
    model's path may end with `:SIGNATURE`.
    """
    found = [each for each in (*scope, scope[0].rpartition(":")[0]) if each]
    beside = [str(path) for each in found for path in blobs(Path(each))]
    return [*beside, *(str(Path(each).parent) if each.endswith(".py") else each for each in found)]


def blobs(path: Path) -> list[Path]:
    """Return the `blobs` folder to which the links in a Hugging Face cache point; [] for a path outside such
    a cache.
    """
    return [each.parent / "blobs" for each in path.absolute().parents if each.name == "snapshots"][:1]


def _software() -> list[str]:
    listed = os.pathsep.join(os.environ.get(name, "") for name in _PATHS).split(os.pathsep)
    listed += re.split(r"[:\s]", os.environ.get("LD_PRELOAD", ""))
    flags = re.findall(r"--xla_gpu_cuda_data_dir=(\S+)", os.environ.get("XLA_FLAGS", ""))
    # An empty entry of PYTHONPATH means the current folder, which may be the home folder.
    home = Path(os.path.expanduser("~"))
    named = [path for path in (*listed, *sys.path) if not home.is_relative_to(os.path.realpath(path))]
    own = [sys.prefix, sys.base_prefix, sys.exec_prefix, *sysconfig.get_paths().values()]
    package = str(Path(__file__).resolve().parents[1])
    every = [*_SYSTEM, *named, *flags, *own, sys.pycache_prefix or "", package]
    return [os.path.expanduser(path) for path in every if path]
