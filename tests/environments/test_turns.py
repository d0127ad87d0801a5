"""Claims about two environments with a known difference. Each trial takes a long time, because it needs three
processes per environment.
"""

from pathlib import Path

import pytest

from tests.environments.turns import slowed, trials

pytestmark = [pytest.mark.real_worker, pytest.mark.long, pytest.mark.timeout(3_600)]


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUILAB_DATA", str(tmp_path))


async def test_one_environment_under_two_names_rarely_shows_a_difference(tmp_path: Path):
    claimed = [pair async for pair in trials(30, ".", tmp_path) if any(row.differs for row in pair.arms)]
    assert len(claimed) <= 2, [pair.sentences[0] for pair in claimed]


async def test_ten_percent_more_time_in_one_environment_is_found_and_named(tmp_path: Path):
    """The slowed function runs in every eager call. A graph runs it only during tracing."""
    place = str(slowed(tmp_path / "slowed", 1.1))
    (pair,) = [pair async for pair in trials(1, place, tmp_path, "standard")]
    rows = {row.arm: row for row in pair.arms}
    assert rows["CPU eager"].differs and 1.03 < 1 / rows["CPU eager"].ratio < 1.2, pair.sentences
    assert not rows["CPU graph"].differs, pair.sentences
    assert "CPU eager: first is 1." in pair.sentences[0] and "faster than second" in pair.sentences[0]
