"""The account of a program agrees with the clocks that the program itself reads."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.watch.running import watched
from tests.watch.timed import kind_of, programs, write

ALL = programs()
MOST_OFF, MOST_OFF_SECTION, MOST_UNKNOWN = 0.05, 0.10, 0.02
"""Limits, as shares of the wall time: the deviation of all lines together, the deviation of one section, and
the unknown time.
"""


@contextlib.contextmanager
def busy(loops: int) -> Iterator[None]:
    """Keep `loops` processors busy. The loops end by themselves if the test is killed."""
    code = f"import os\nwhile os.getppid() == {os.getpid()}: pass"
    with contextlib.ExitStack() as stack:
        for _ in range(loops):
            loop = stack.enter_context(subprocess.Popen([sys.executable, "-c", code]))
            stack.callback(loop.kill)
        yield


@pytest.mark.slow
@pytest.mark.parametrize(
    ("loops", "style", "names"),
    [
        pytest.param(loops, *one, marks=pytest.mark.long if loops or n % 10 else ())
        for loops in (0, os.cpu_count() or 1)
        for n, one in enumerate(ALL)
    ],
    ids=[f"{how}-{style}-{'-'.join(names)}" for how in ("quiet", "busy") for style, names in ALL],
)
def test_each_section_is_within_ten_points_of_its_own_clock(
    tmp_path: Path, loops: int, style: str, names: tuple[str, ...]
) -> None:
    program = write(tmp_path, style, names)
    with busy(loops):
        page, said = watched(program)
    clocks, lasted = json.loads(said.splitlines()[-1]), page.lasted_s
    sampled = sum(row.seconds for row in page.account if row.stack and row.kind != "unknown")
    unknown = sum(row.seconds for row in page.account if row.kind == "unknown" and not row.function)
    lines = program.read_text().splitlines()
    rows = {}
    for name in names:
        own = {f"timed.py:{n}" for n, code in enumerate(lines, 1) if code.endswith(f"# {name}")}
        rows[name] = [row for row in page.account if any(place.endswith(tuple(own)) for place in row.stack)]
    spent = {name: sum(row.seconds for row in found) for name, found in rows.items()}
    off = {name: (spent[name] - clocks[name]) / lasted for name in names}
    print(  # pytest shows these figures with -rA
        f"{lasted:.1f} s; program off {(sampled - clocks['whole']) / lasted:+.1%}, unknown {unknown / lasted:.1%}, "
        + ", ".join(f"{name} {share:+.1%}" for name, share in off.items())
    )
    assert sampled == pytest.approx(clocks["whole"], abs=MOST_OFF * lasted), page.account
    assert unknown < MOST_UNKNOWN * lasted
    assert sum(row.seconds for row in page.account) == pytest.approx(lasted, rel=MOST_OFF)
    for name in names:
        assert abs(off[name]) <= MOST_OFF_SECTION, (name, rows[name])
        if kind := kind_of(style, name):
            inside = sum(row.seconds for row in rows[name] if row.kind == kind)
            assert inside >= spent[name] - MOST_OFF_SECTION * lasted, (name, rows[name])
