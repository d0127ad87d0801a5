"""Compares a whole history's lists, comparisons and messages after each action with the stored ones.

`--snapshot-update` renews the stored ones after a review.
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from tests.made import folded
from tests.report.drawn import drawn_events
from tests.report.test_whole_reports import Text, digest
from tuilab.analysis.compare import Across, compare
from tuilab.history import browse
from tuilab.history.recording import write
from tuilab.history.runs import PruneCandidates
from tuilab.history.store import Store
from tuilab.lab import history as page
from tuilab.lab import machines
from tuilab.lab.history import CancellableProgress, History, HistoryClient, Stopped
from tuilab.lab.replay import recorded
from tuilab.model import events as e
from tuilab.model.brief import Brief
from tuilab.model.errors import InputError

SEEDS, PACES = (3, 9, 13, 31, 33), (1.0, 1.3, 1.05)
"""Seeds of the random runs, and factors for their seconds per call. Each seed is combined with each factor.
"""
RUNS = len(SEEDS) * len(PACES)
PAIRS = [(one, other) for one in range(RUNS) for other in range(RUNS) if one != other][::3]
SEARCHES = (
    "gpu-1",
    "machine:gpu-1",
    "status:failed",
    "budget:quick w",
    "#slow",
    "tag:",
    "Inflating fastest",
    "r05",
    "stft 'w",
    "%",
)


def events(number: int) -> list[e.Event]:
    """Return the events of run `number`: a random run at one of three speeds, with its own machine, date and
    preset.
    """
    seed, pace = SEEDS[number % len(SEEDS)], PACES[number // len(SEEDS)]
    out: list[e.Event] = []
    for event in drawn_events(seed):
        told = replace(event, run=f"r{number:02}") if hasattr(event, "run") else event
        if isinstance(told, e.RunStarted):
            host, tensorflow = f"gpu-{number % 5 % 3}", f"2.{19 + number // 10}.0"
            here = replace(told.machine, host=host, tensorflow=tensorflow, driver="570")
            preset = ("", "stft-small")[number % 5 % 2]
            told = replace(told, machine=here, at=f"2026-01-{1 + number:02}T09:00:00Z", preset=preset)
        elif isinstance(told, e.Round):
            blocks = tuple(replace(block, seconds=block.seconds * pace) for block in told.blocks)
            told = replace(told, blocks=blocks)
        out.append(told)
    return out


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    made = History(Store.open(tmp_path / "data"))
    for number in range(RUNS):
        write(tmp_path / f"{number}.jsonl", events(number))
        made.import_file(tmp_path / f"{number}.jsonl")
    yield made
    made.store.close()


def test_the_lists(history, snapshot):
    assert "\n".join(lists(history)) == snapshot(extension_class=Text)


def lists(history: History) -> Iterator[str]:
    for entry in history.entries(limit=RUNS):
        line, brief = entry.line, page.work_out(history, entry)
        yield f"{line.run} {line.at} {entry.name} {line.host} {line.budget} {line.status} {line.rounds} {line.size} {entry.parameters}"
        yield f"  {line.answer}\n  {msgspec.json.encode(brief).decode()}"
        state = history.state(line.run)
        alike = [browse.medians_alike(history.store, state, arm.label) for arm in state.arms.values()]
        yield f"  {[[f'{median:.6g}' for median in medians] for medians in alike]}"
    for by in browse.ORDERS:
        for rising in (False, True):
            found = page.first_page(history, search="", order=(by, rising), place=3, titles={})
            yield f"by {by} {rising}: {found[0].runs}, page {found[1]}, at {found[3]}: {' '.join(entry.run for entry in found[2])}"
    for search in SEARCHES:
        found = history.store.runs(search, titles={"stft-small": "A slow one"})
        yield f"{search!r}: {' '.join(line.run for line in found)}; {browse.extent(history.store, search)}"
    yield from (f"{offer.key} | {offer.label} | {offer.detail}" for offer in recorded(history.store))
    lines, problem = machines.load(history.store)
    yield from (f"{line.preset} {line.differing} | {machines.about(line)}" for line in lines)
    yield problem


def test_the_comparisons_of_two_runs(snapshot):
    states = [folded(*events(number)) for number in range(RUNS)]
    out = []
    for one, other in PAIRS:
        found = compare(states[one], states[other])
        out += [f"{one} {other} | {found.note}", *(f"  ! {warning}" for warning in found.warnings)]
        out += [f"  {arm.label} {arm.at} {arm.differs}: {arm.sentence}" for arm in found.arms]
    assert "\n".join(out) == snapshot(extension_class=Text)


def told(found: Across | None) -> Iterator[str]:
    if found is None:
        return
    yield f"base {found.base}, {found.left_out} left out, {found.note} {found.warnings}"
    for arm in found.arms:
        figures = (f"{each} {each.words} {each.bounds}" if each else "-" for each in arm.figures)
        yield f"{arm.label} {arm.at} | {' | '.join(figures)}"


async def test_what_each_action_says(history, tmp_path, snapshot):
    assert "\n".join([line async for line in actions(history, tmp_path)]) == snapshot(extension_class=Text)


async def actions(history: History, folder: Path):
    def entries(*runs: str) -> list[browse.Entry]:
        return [found for run in runs if (found := browse.entry(history.store, run)) is not None]

    def state(*runs: str) -> str:
        return " ".join(f"{x.run} {x.line.tags} {x.line.pinned} {x.line.note!r}" for x in entries(*runs))

    yield str(page.tags_of("#slow, two words ,, slow,#" + "x" * 80))
    yield page.retag(history, entries("r01", "r02"), ["slow", "new"])
    yield page.retag(history, entries("r02", "r03"), ["night"])
    yield page.write_note(history, *entries("r04"), "  a note\nof two lines ")
    yield page.write_note(history, *entries("r05"), " ")
    for kind in ("ghost", "baseline", "baseline"):
        yield page.pin(history, entries("r05", "r07"), kind)
        yield str([ghost.run for ghost in page.ghosts(history)])
    page.pin(history, entries("r07"), "baseline")
    yield state("r01", "r02", "r03", "r04", "r05", "r07")
    going = CancellableProgress("Comparing")
    yield going.words()
    for chosen in (("r01", "r03", "r09"), ("r01",), ("r00",), ("r08", "r07", "r06")):
        found, compared = page.compared(history, entries(*chosen), going)
        yield f"compared {[each.run for each in found]}"
        for line in told(compared):
            yield line
    yield going.words()
    yield page.delete(history, entries("r01", "r02"))
    yield page.delete(history, entries("r03"))
    yield f"{len(history.store.runs())} runs; {page.undo(history)} {page.undo(history)} {page.undo(history)}"
    for days, size in ((None, 200_000), (None, None), (0.0, None), (10_000.0, 10**9)):
        found = history.prunable(days, size)
        yield f"prunable {found.runs} {page.pruning(replace(found, size=1_234_567))}"
    client = HistoryClient(history.store)
    yield await page.prune(client, PruneCandidates(("r10", "r11"), 5_000), going)
    history.store.connection.execute("UPDATE runs SET deleted_at = 1 WHERE run = 'r10'")
    yield await page.prune(client, PruneCandidates(("r12",), 5_000_000), going)
    client.close()
    yield page.take_in(history, folder / "10.jsonl", going)
    yield page.take_in(history, folder / "10.jsonl", going)
    history.save("r09", folder / "saved.jsonl")
    yield digest((folder / "saved.jsonl").read_text())
    yield f"{history.check()}"
    for name in ("markdown", "html", "csv", "json"):
        yield f"{name} {digest(''.join(history.document('r04', name)))}"
    for name in ("last", "r0", "r04", "none"):
        try:
            yield f"{name}: {history.find(name).run}"
        except InputError as error:
            yield f"{name}: {error}"
    going.at(3, 20)
    yield going.words()
    going.stop()
    yield going.words()
    for act in (
        lambda: page.take_in(history, folder / "11.jsonl", going),
        lambda: page.compared(history, entries("r04", "r05"), going),
    ):
        try:
            act()
        except Stopped as stopped:
            yield f"stopped: {stopped}"
    yield (
        page.imported({"a" * 32: False})
        + page.imported({"a": False, "b": False})
        + page.imported({"a": True, "b": False})
    )
    history.store.keep_brief("r04", Brief(0))
    yield f"{browse.entry(history.store, 'r04')}"
