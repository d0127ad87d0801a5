"""The batch that pays."""

from tuilab.analysis.batch import paying
from tuilab.model.result import PointArm, PointResult


def swept(times):
    """A sweep along the batch: seconds of each arm by size."""
    return [
        PointResult(
            {"batch": size},
            tuple(
                PointArm(id=f"arm{i}", median_s=s, ci95_s=None, n=3, status="ok") for i, s in enumerate(arms)
            ),
        )
        for size, arms in times.items()
    ]


def test_the_least_batch_near_the_best_throughput_pays():
    # 1,000, 4,000, 9,500 and 10,000 examples a second
    assert paying(swept({1: [1e-3], 8: [2e-3], 38: [4e-3], 160: [16e-3]}), "batch") == 38


def test_the_faster_arm_of_each_batch_counts():
    assert paying(swept({1: [1e-3, 1e-4], 10: [9e-3, 9e-2]}), "batch") == 1


def test_one_batch_or_none_that_ran_says_nothing():
    assert paying(swept({4: [1e-3]}), "batch") is None
    assert paying(swept({4: [None], 8: [None]}), "batch") is None
    assert paying(swept({4: [1e-3], 8: [1e-3]}), "length") is None
