"""Checks whether this kernel can confine the worker that opens a model file."""

from tuilab import landlock
from tuilab.model.doctor import Probe


def probe(version: int | None = None) -> Probe:
    """Return the finding in a sentence. version: the Landlock version; by default, that of this kernel."""
    found = landlock.version() if version is None else version
    if not found:
        text = "this kernel has no Landlock (Linux 5.13 or later); model files are opened without a sandbox"
        return Probe("model sandbox", "warn", text)
    tcp = "" if found >= 4 else "; TCP is not restricted (Linux 6.7 or later)"
    return Probe("model sandbox", "ok" if not tcp else "warn", f"Landlock {found}{tcp}")
