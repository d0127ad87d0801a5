"""Detects the kind of container in which this process runs, because each kind gets its GPUs in a different
way.
"""

import re
from dataclasses import dataclass

from tuilab.doctor.place import Place
from tuilab.model.doctor import Probe

_CGROUP = re.compile(r"docker|kubepods|containerd|libpod|lxc")


@dataclass(frozen=True)
class Container:
    """The container in which this process runs.

    kind: docker, podman, kubernetes, apptainer, lxc …; empty outside a container. evidence: the trace that
    reveals the kind.
    """

    kind: str = ""
    evidence: str = ""


def look(place: Place) -> Container:
    """Recognize the container runtime by its traces, most specific first."""
    environ = place.environ
    for variable in ("APPTAINER_NAME", "SINGULARITY_NAME", "APPTAINER_CONTAINER", "SINGULARITY_CONTAINER"):
        if environ.get(variable):
            return Container("apptainer", variable)
    if environ.get("KUBERNETES_SERVICE_HOST"):
        return Container("kubernetes", "KUBERNETES_SERVICE_HOST")
    if place.file("/run/.containerenv").exists():
        return Container("podman", "/run/.containerenv")
    if place.file("/.dockerenv").exists():
        return Container("docker", "/.dockerenv")
    if environ.get("container"):
        return Container(re.sub(r"[^a-z-]", "", environ["container"].lower()) or "container", "$container")
    match = _CGROUP.search(place.read("/proc/1/cgroup"))
    if match:
        kinds = {"kubepods": "kubernetes", "libpod": "podman", "lxc": "lxc"}
        return Container(kinds.get(match[0], "docker"), "/proc/1/cgroup")
    return Container()


def probe(found: Container) -> Probe:
    if found.kind:
        return Probe("container", "ok", f"inside a {found.kind} container ({found.evidence})")
    return Probe("container", "skip", "not inside a container")
