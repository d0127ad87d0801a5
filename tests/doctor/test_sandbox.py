"""The probe reports the features that the kernel's sandbox lacks."""

import pytest

from tuilab import landlock
from tuilab.doctor import sandbox


@pytest.mark.parametrize(
    ("version", "status", "said"),
    [(0, "warn", "no Landlock"), (3, "warn", "TCP is not restricted"), (7, "ok", "Landlock 7")],
)
def test_probe_names_what_the_kernel_lacks(version, status, said):
    probe = sandbox.probe(version)
    assert (probe.status, said in probe.detail) == (status, True)


def test_probe_looks_at_this_kernel():
    assert sandbox.probe() == sandbox.probe(landlock.version())
