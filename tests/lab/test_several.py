"""Several watched programs on one screen, and pages opened from files."""

import time
from types import SimpleNamespace

import msgspec
import pytest

from tuilab.lab import several
from tuilab.lab.several import FarProgram, Several, follow, lines_of, open_pages
from tuilab.lab.shown_program import ShownProgram
from tuilab.lab.watch import WatchOptions, last_lines, spread, without_secrets
from tuilab.model.errors import InputError
from tuilab.model.far import Choose, Over, Resize, Shown, Signal, Type, Wrote
from tuilab.model.program import Page, ProcessRow, StepTimes, Together


def row(pid: int, median_s: float | None = None, host: str = "") -> ProcessRow:
    ends = (None, None) if median_s is None else (0.9 * median_s, 1.1 * median_s)
    return ProcessRow(
        pid=pid, parent=0, command="train.py", host=host, steps=StepTimes(median_s=median_s, ci95_s=ends)
    )


class Shows(ShownProgram):
    def __init__(self, *pids: int, host: str = "", runs: bool = False, **about) -> None:
        rows = tuple(row(pid) for pid in pids)
        super().__init__(Page(command=("python", "train.py", "-v"), host=host, processes=rows, **about))
        self.asked, self.runs = [], runs

    @property
    def running(self) -> bool:
        return self.runs

    def choose(self, index):
        self.asked.append(("choose", index))

    def output(self, lines):
        return [f"{self.page.host} {lines}"]

    def resize(self, columns, rows):
        self.asked.append(("resize", columns, rows))

    def type(self, text):
        self.asked.append(("type", text))

    def signal(self, number):
        self.asked.append(("signal", number))


def test_rows_of_all_programs_are_chosen_in_order():
    programs = [Shows(1, 2, host="a"), Shows(host="b"), Shows(3, 4, host="c", runs=True)]
    both = Several(programs)
    assert [(each.pid, each.host, each.command) for each in both.rows] == [
        (1, "a", "train.py"), (2, "a", "train.py"), (0, "b", "train.py"), (3, "c", "train.py"), (4, "c", "train.py"),
    ]  # fmt: skip
    changes = []
    both.changed = lambda: changes.append(both.chosen)
    chosen = [(both.choose(index), both.chosen, both.output(7), both.catches)[1:] for index in range(5)]
    assert chosen == [
        (0, ["a 7"], False), (0, ["a 7"], False), (1, ["b 7"], False), (2, ["c 7"], True), (2, ["c 7"], True),
    ]  # fmt: skip
    assert changes == [0, 0, 1, 2, 2] and both.page.host == "c" and both.page.processes == both.rows
    assert [program.asked for program in programs] == [
        [("choose", 0), ("choose", 1)], [], [("choose", 0), ("choose", 1)],
    ]  # fmt: skip
    both.choose(5)
    assert both.chosen == 2
    for program in programs:
        program.asked.clear()
    both.type("x"), both.signal(15), both.resize(80, 24)
    assert all(each.asked == [("type", "x"), ("signal", 15), ("resize", 80, 24)] for each in programs)
    assert both.running
    programs[2].runs = False
    assert not both.running


def test_the_page_of_several_programs_names_the_slowest_process_once():
    pages = [
        Page(command=("train.py",), host=host, processes=(row(pid, median),), notes=("own",))
        for host, pid, median in (("a", 1, 0.1), ("b", 2, 0.3))
    ]
    both = Several([ShownProgram(page) for page in pages])
    said = "process 2 on b is the slowest: 300 ms a step; 3.00× as long as process 1 on a"
    assert both.page.notes == (said, "own") and both.together.slowest == said
    same = both.page
    both.programs[0].changed()
    assert both.page is same, "nothing changed"
    assert both.together.programs == tuple(pages)
    alone = Several([ShownProgram(pages[0])])
    assert alone.page is pages[0] and alone.now is pages[0]


def test_each_line_names_its_host_only_if_there_are_several():
    out = []
    assert list(lines_of(["a", "b", "a"], out.append)) == ["a", "b"]
    lines = lines_of(["a", "b"], out.append)
    lines["a"].add(b"one\r\ntwo")
    lines["b"].add(b"0%\r100%\n\nx\n")
    assert out == [b"a: one\n", b"b: 100%\nb: \nb: x\n"]
    lines["a"].end(), lines["b"].end()
    assert out[2:] == [b"a: two\n"]
    alone = lines_of(["a", "a"], out.append)["a"]
    alone.add(b"raw\r")
    alone.end()
    assert out[3:] == [b"raw\r"]


@pytest.mark.parametrize(
    ("codes", "expected"), [((0, 0), 0), ((0, 3, 4), 3), ((None, 0), 1), ((0, None), 1), ((2, None), 2)]
)
def test_the_first_exit_code_that_is_not_zero_counts(codes, expected, monkeypatch):
    monkeypatch.setattr(several, "PASSED", ())
    monkeypatch.setattr(several, "_type_into", lambda programs: None)
    programs, ended = {}, []
    for number, code in enumerate(codes):
        programs[str(number)] = SimpleNamespace(exit_code=code, wait=lambda seconds: True)
    lines = {host: SimpleNamespace(end=lambda host=host: ended.append(host)) for host in programs}
    assert follow(programs, lines) == expected and ended == list(programs)


def test_typed_text_and_its_end_reach_every_program(monkeypatch):
    data = [b"yes\n", b"\xff", b""]
    monkeypatch.setattr(several.os, "read", lambda file, most: data.pop(0))
    typed = [], []
    several._type_into([SimpleNamespace(type=each.append) for each in typed])
    assert typed == (["yes\n", "\ufffd", "\x04"],) * 2 and data == []


def test_pages_are_opened_from_files_of_one_or_several_programs(tmp_path):
    one, two = (Page(command=("train.py",), host=host) for host in "ab")
    (tmp_path / "one").write_bytes(msgspec.json.encode(one))
    (tmp_path / "both").write_bytes(msgspec.json.encode(Together(programs=(one, two))))
    found = open_pages([str(tmp_path / "one"), str(tmp_path / "both")])
    assert [program.page for program in found.programs] == [one, one, two] and found.chosen == 0
    with pytest.raises(InputError) as none:
        open_pages([])
    assert str(none.value) == (
        "--open: got ''; expected ids of `tuilab history programs`, or files written by --json"
    )
    (tmp_path / "bad").write_text("{")
    with pytest.raises(InputError) as bad:
        open_pages([str(tmp_path / "bad")])
    assert str(bad.value).startswith(
        f"--open: got '{tmp_path / 'bad'}'; expected a file written by `tuilab watch --json`: "
    )
    with pytest.raises(InputError) as unknown:
        open_pages(["wnone"])
    assert str(unknown.value).startswith(
        "--open: got 'wnone'; expected a file written by `tuilab watch --json`, or "
    )


def test_a_far_program_shows_what_its_machine_reports(monkeypatch):
    kept, asked, begun = [], [], []
    monkeypatch.setattr(several, "keep", lambda program, page: kept.append(page))

    def far(*given):
        begun.append(given)
        return SimpleNamespace(ask=asked.append)

    monkeypatch.setattr("tuilab.runner.far.Far", far)
    monkeypatch.setattr(several.os, "getcwd", lambda: "/here")
    before = time.time()
    program = FarProgram("gpu-07", ["train.py", "--token=x"], WatchOptions(every=2.0, once=True))
    program.type("lost")
    assert not program.running and not program.catches and program.page.command == ("train.py", "--token=…")
    program.start((80, 24))
    [(host, words, *_)] = begun
    assert (host, words) == (
        "gpu-07",
        ["--far=80x24", "--folder=/here", "--window=0.4", "--every=2.0", "--once", "--", "train.py", "--token=x"],
    )  # fmt: skip
    assert program.running and not program.wait(0)
    program._heard(Shown(Page(command=("x",), processes=(row(7), row(8))), {1: 0.5}))
    assert {each.host for each in program.rows} == {program.page.host} == {"gpu-07"} and program.steps == {
        1: 0.5
    }
    assert kept == [], "the page is too recent to save"
    assert 0 <= program.now.lasted_s <= time.time() - before
    program.choose(1), program.resize(90, 30), program.type("a"), program.signal(2)
    assert asked == [Choose(8), Resize(90, 30), Type(b"a"), Signal(2)]
    program._heard(Wrote(b"x" * several.KEPT_OUTPUT + b"\none\n"))
    assert len(program._written) == several.KEPT_OUTPUT and program.output(1) == ["one"]
    with pytest.raises(LookupError) as error:
        program.catch()
    assert str(error.value) == "capture a step on the machine where it runs, with `tuilab watch` on gpu-07"
    program._heard(Over(3))
    assert (program.exit_code, program.page.exit_code, program.running, program.wait(0)) == (
        3,
        3,
        False,
        True,
    )
    assert kept == [program.page] and program.now.lasted_s == program.page.lasted_s
    program.type("b")
    assert len(asked) == 4, "a program that has ended gets nothing"
    lost = FarProgram("gpu-08", ["train.py"], WatchOptions())
    lost._lost("the connection was lost")
    assert (lost.exit_code, lost.page.notes, lost.wait(0)) == (None, ("the connection was lost",), True)
    with pytest.raises(InputError) as error:
        FarProgram("gpu-08", [], WatchOptions())
    assert str(error.value) == (
        "watch: got ''; expected a program to start: train.py, -m module, or -- command"
    )


def test_a_secret_of_a_command_is_hidden_and_nothing_else():
    for given, shown in (
        ("train.py --api-key abc --lr 1", "train.py --api-key … --lr 1"),
        ("train.py --Token=abc key", "train.py --Token=… key"),
        ("PASSWORD=x run keyboard", "PASSWORD=… run keyboard"),
        ("--key --secret b", "--key … b"),
        ("-auth a b", "-auth … b"),
        ("/home/keys/train.py a", "/home/keys/train.py a"),
        ("-x/key a", "-x/key a"),
    ):
        assert " ".join(without_secrets(given.split())) == shown
    (long,) = without_secrets(["x" * 600])
    assert long == "x" * 500 + "…"


def test_the_last_lines_are_those_that_a_terminal_shows():
    profiler = b"2026-11-21 10:00:00.1: I external/tsl/profiler_session.cc:1] x\n"
    raw = b"first\r\n1/9\r9/9\n" + profiler + b"I0000 a save_profile.cc:2] y\nlast\n"
    assert last_lines(raw, 9) == ["first", "9/9", "last"] and last_lines(raw, 2) == ["9/9", "last"]
    assert last_lines(b"open", 1) == ["open"] and last_lines(b"", 3) == []
    assert last_lines(b"a\r\r\nb\n", 2) == ["a", "b"]


@pytest.mark.parametrize(
    ("count", "order"),
    [(0, []), (1, [0]), (2, [0, 1]), (5, [0, 4, 2, 1, 3]), (8, [0, 7, 4, 2, 6, 1, 3, 5])],
)
def test_windows_are_read_from_the_ends_inwards(count, order):
    assert spread(count) == order
