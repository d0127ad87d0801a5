import subprocess
import sys

import pytest

from tuilab.model.errors import InputError
from tuilab.workloads import find, shipped

OFFERED = """
from tuilab.model.workload import Declaration
from tuilab.workloads.base import Case, Workload

WORKLOAD = Workload(
    Declaration(name="offered", title="Offered", summary="", unit="call", parameters=()),
    lambda build: Case(call=lambda: None),
)
WRONG = 5
"""


def test_shipped_workloads_are_found_by_name():
    named = {"stft", "elementwise", "matmul", "copies", "memory", "pingpong", "compression", "contention"}
    assert set(shipped()) >= named | {"input_pipeline", "training"}
    assert all(find(name).declaration.name == name for name in shipped())
    with pytest.raises(InputError, match="stft"):
        find("stfd")


def test_an_installed_package_adds_a_workload_by_entry_point(tmp_path):
    (tmp_path / "offering.py").write_text(OFFERED)
    info = tmp_path / "offering-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: offering\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[tuilab.workloads]\noffered = offering:WORKLOAD\nwrong = offering:WRONG\n"
    )
    code = (
        "from tuilab.workloads import find; print(find('offered').declaration.title)\n"
        "try: find('wrong')\nexcept ValueError as e: print(e)"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    first, second = done.stdout.splitlines()
    assert first == "Offered"
    assert "tuilab.workloads:wrong" in second and "offering:WRONG" in second


def test_every_parameter_has_help_and_every_variant_says_what_it_is():
    for workload in shipped().values():
        declaration = workload.declaration
        assert all(p.help and p.label for p in declaration.parameters), declaration.name
        assert all(v.help for v in declaration.variants), declaration.name
        assert declaration.parameter(declaration.axis) is not None
