"""The batch that pays."""

from types import SimpleNamespace

from tuilab.analysis.batch import batch_answer, paying
from tuilab.model.models import ModelInfo
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


def test_what_fits_is_told_for_each_variant_where_it_differs():
    def said(**of: int) -> str:
        model = ModelInfo(
            kind="keras", parameters=1, inputs=(), batch="batch", fits=min(of.values()), fits_of=of
        )
        found = batch_answer(SimpleNamespace(model=model, sweep=None), (), ())  # type: ignore[arg-type]
        assert found is not None and found.fits == min(of.values())
        return found.sentence

    assert "about 9,000 (inference) and 400 (training) fit" in said(inference=9_000, training=400)
    assert "about 70 fit" in said(inference=70, training=70)
