"""The account agrees with the clocks that the programs read themselves."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.calling import TUILAB, environment
from tests.watch.timed import kind_of, programs, write
from tuilab.model.program import Page

ALL = programs()
MOST_OFF, MOST_OFF_SECTION, MOST_UNKNOWN = 0.05, 0.10, 0.02
"""Maximum deviations as shares of the wall time: for all lines of the program together, for one section, and
for unknown time.
"""


@contextlib.contextmanager
def busy(loops: int) -> Iterator[None]:
    """Keep that many processors busy. The loops end by themselves if the test is killed."""
    code = f"import os\nwhile os.getppid() == {os.getpid()}: pass"
    with contextlib.ExitStack() as stack:
        for _ in range(loops):
            stack.callback(subprocess.Popen([sys.executable, "-c", code]).kill)
        yield


@pytest.mark.slow
@pytest.mark.parametrize(
    ("loops", "style", "names"),
    [
        pytest.param(loops, *one, marks=pytest.mark.long if loops or n % 10 else ())
        for loops in (0, 2)
        for n, one in enumerate(ALL)
    ],
    ids=[f"{how}-{style}-{'-'.join(names)}" for how in ("quiet", "busy") for style, names in ALL],
)
def test_each_section_is_within_ten_points_of_its_own_clock(
    tmp_path: Path, loops: int, style: str, names: tuple[str, ...]
) -> None:
    program, file = write(tmp_path, style, names), tmp_path / "page.json"
    command = [*TUILAB, "watch", "--plain", "--json", str(file), str(program)]
    settings = {**environment(tmp_path), "TF_CPP_MIN_LOG_LEVEL": "3"}
    with busy(loops):
        done = subprocess.run(command, capture_output=True, text=True, env=settings, timeout=600)
    assert done.returncode == 0, done.stderr
    page = msgspec.json.decode(file.read_bytes(), type=Page)
    clocks = json.loads(done.stdout.splitlines()[-1])
    lasted = page.lasted_s
    sampled = sum(row.seconds for row in page.account if row.stack and row.kind != "unknown")
    assert sampled == pytest.approx(clocks["whole"], abs=MOST_OFF * lasted), page.account
    unknown = sum(row.seconds for row in page.account if row.kind == "unknown" and not row.function)
    assert unknown < MOST_UNKNOWN * lasted
    assert sum(row.seconds for row in page.account) == pytest.approx(lasted, rel=MOST_OFF)
    lines = program.read_text().splitlines()
    for name in names:
        own = {f"timed.py:{n}" for n, code in enumerate(lines, 1) if code.endswith(f"# {name}")}
        rows = [row for row in page.account if own.intersection(row.stack)]
        spent = sum(row.seconds for row in rows)
        assert spent == pytest.approx(clocks[name], abs=MOST_OFF_SECTION * lasted), (name, rows)
        if kind := kind_of(style, name):
            inside = sum(row.seconds for row in rows if row.kind == kind)
            assert inside >= spent - MOST_OFF_SECTION * lasted, (name, rows)
