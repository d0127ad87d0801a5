"""The account agrees with the clocks that the programs read themselves."""

import json
from pathlib import Path

import pytest

from tests.watch.running import watched
from tests.watch.timed import KIND, programs, text

ALL = programs()
MOST_OFF, MOST_OFF_SECTION, MOST_UNKNOWN = 0.05, 0.10, 0.02
"""Maximum deviations as shares of the wall time: for all lines of the program together, for one section, and
for unknown time.
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("style", "names"),
    [pytest.param(*one, marks=pytest.mark.long if n % 10 else ()) for n, one in enumerate(ALL)],
    ids=[f"{style}-{'-'.join(names)}" for style, names in ALL],
)
def test_each_section_is_within_ten_points_of_its_own_clock(
    tmp_path: Path, style: str, names: tuple[str, ...]
) -> None:
    program = tmp_path / "timed.py"
    program.write_text(text(style, names))
    page, said = watched(program)
    clocks = json.loads(said.splitlines()[-1])
    lasted = page.lasted_s
    sampled = sum(row.seconds for row in page.account if row.stack and row.kind != "unknown")
    assert sampled == pytest.approx(clocks.pop("whole"), abs=MOST_OFF * lasted), page.account
    assert (
        sum(r.seconds for r in page.account if r.kind == "unknown" and not r.function) < MOST_UNKNOWN * lasted
    )
    assert sum(row.seconds for row in page.account) == pytest.approx(lasted, rel=MOST_OFF)
    lines = program.read_text().splitlines()
    for name in names:
        line = next(n for n, code in enumerate(lines, 1) if code.startswith(f"section({name!r}"))
        rows = [row for row in page.account if any(place.endswith(f"timed.py:{line}") for place in row.stack)]
        spent = sum(row.seconds for row in rows)
        assert spent == pytest.approx(clocks[name], abs=MOST_OFF_SECTION * lasted), (name, rows)
        if kind := KIND.get(name):
            inside = sum(row.seconds for row in rows if row.kind == kind)
            assert inside >= spent - MOST_OFF_SECTION * lasted, (name, rows)
