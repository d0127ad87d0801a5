"""Checks whether this kernel can confine the worker that opens a model file, and whether CUDA works in a
confined process.
"""

import tempfile
from dataclasses import dataclass

from tuilab import guest, landlock
from tuilab.doctor import children, libcuda
from tuilab.doctor.libcuda import Libcuda
from tuilab.doctor.place import Place
from tuilab.model.doctor import Probe

NAME = "model sandbox"


@dataclass(frozen=True)
class Sandbox:
    """Results of the sandbox test. version: Landlock's version, 0 if the kernel has none. libcuda: libcuda's
    answers in a confined process; None without a GPU device file or Landlock.
    """

    version: int = 0
    libcuda: Libcuda | None = None


def look(place: Place, until: float) -> Sandbox:
    version = landlock.version()
    nodes = [node for name in ("nvidia*", "dxg") for node in place.file("/dev").glob(name)]
    if not version or not nodes:
        return Sandbox(version)
    module = guest.command("tuilab.worker.confined", "tuilab.doctor.child", "libcuda")
    with tempfile.TemporaryDirectory(prefix="tuilab-", ignore_cleanup_errors=True) as scratch:
        ran = children.run(module, children.environment(place.environ, TMPDIR=scratch), until)
    return Sandbox(version, libcuda.read(children.merge_lines(ran.out), ran))


def probe(found: Sandbox, unconfined: Libcuda) -> Probe:
    """Describe the results of the sandbox test. unconfined: libcuda's answers outside the sandbox."""
    if not found.version:
        text = "this kernel has no Landlock, so model files are opened without a sandbox (needs Linux 5.13)"
        return Probe(NAME, "warn", text)
    text = f"Landlock {found.version}"
    if found.libcuda is not None and libcuda.probe(unconfined).status == "ok":
        confined = libcuda.probe(found.libcuda)
        if confined.status != "ok":
            text += f" hides the GPU from models that are opened without `--trust`: {confined.detail}"
            return Probe(NAME, "fail", text)
        text += "; a confined process can use the GPU"
    tcp = "" if found.version >= 4 else "; TCP is not restricted (this needs Linux 6.7 or later)"
    return Probe(NAME, "ok" if not tcp else "warn", f"{text}{tcp}")
