"""Kernel time read from a profile: what runs side by side counts once, and calls are told apart."""

from hypothesis import given
from hypothesis import strategies as st

from tuilab.worker.measure.phases import computing, covered
from tuilab.worker.profile.classify import CALL
from tuilab.worker.profile.xplane import HOST, Event, Line

SPANS = st.lists(
    st.tuples(st.integers(0, 100), st.integers(0, 30)).map(lambda s: (s[0], s[0] + s[1])), max_size=12
)


def test_parallel_kernels_count_once() -> None:
    assert covered([(0, 2), (1, 3), (5, 6)]) == 4


def test_nested_spans_count_once() -> None:
    assert covered([(0, 10), (2, 3)]) == 10


@given(SPANS)
def test_covered_is_the_measure_of_the_union(spans: list[tuple[int, int]]) -> None:
    assert covered(spans) == len({at for begin, end in spans for at in range(begin, end)})


def thread(*events: tuple[str, int, int]) -> Line:
    """A host thread's events: name, begin, end. A node of a graph is named with its op."""
    return Line("thread", HOST, tuple(Event(n, b, e, op=n.partition(":")[2]) for n, b, e in events))


def test_each_call_has_its_own_kernels() -> None:
    main = thread((CALL, 0, 100), (CALL, 200, 300))
    pool = thread(("a/MatMul:MatMul", 10, 40), ("a/MatMul:MatMul", 220, 225))
    other = thread(("a/Add:AddV2", 30, 50))
    assert computing([main, pool, other]) == [40, 5]


def test_what_runs_between_calls_is_none_of_them() -> None:
    assert computing([thread((CALL, 100, 200)), thread(("a/MatMul:MatMul", 10, 40))]) == [0]
    assert computing([thread(("a/MatMul:MatMul", 10, 40))]) == []


def test_what_lies_around_kernels_is_no_computing() -> None:
    main = thread((CALL, 0, 100), ("EagerExecute", 10, 90), ("TFE_DeleteTensorHandle", 92, 95))
    assert computing([main]) == [0]
