import pytest

from tuilab.analysis.caveats import Pressure, contention
from tuilab.model.found import Found


def test_a_quiet_machine_raises_no_doubt() -> None:
    quiet = Pressure(wall_s=10, cores=2, switches=80, waited_s=0.1, throttled_s=0.0, others_s=1.0, load=2.1)
    assert contention(quiet) is None
    assert contention(Pressure(wall_s=10, cores=2)) is None
    assert contention(Pressure(wall_s=0, cores=2, switches=100)) is None


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        (Pressure(wall_s=2, cores=2, switches=260), "it was interrupted 130 times a second"),
        (Pressure(wall_s=2, cores=2, waited_s=0.3), "it waited for a processor for 15% of the time"),
        (Pressure(wall_s=2, cores=2, throttled_s=0.5), "a CPU quota held it back for 25% of the time"),
        (Pressure(wall_s=2, cores=2, others_s=2.0), "other processes used 50% of 2 logical CPUs"),
        (Pressure(wall_s=2, cores=1, load=3.4), "the load average was 3.4 on 1 logical CPU"),
    ],
)
def test_each_counter_raises_its_own_doubt(seen: Pressure, words: str) -> None:
    assert contention(seen) == Found("cpu-contention", f"the measurement shared its processors: {words}")


def test_several_reasons_make_one_doubt() -> None:
    found = contention(Pressure(wall_s=1, cores=2, switches=200, waited_s=0.5, load=9))
    assert found is not None and found.message.count(" and ") == 1 and found.message.count(",") == 1


def test_interruptions_blame_no_process_if_none_other_computed():
    threads = Pressure(wall_s=10, cores=2, switches=800, waited_s=0.1, others_s=0.1)
    assert contention(threads) is None, "threads of one pool yield to each other"
    found = contention(Pressure(wall_s=10, cores=2, switches=800, waited_s=0.1, others_s=1.5))
    assert found and "interrupted 80 times a second" in found.message
