from tuilab.analysis.batch import fitting, growing, paying
from tuilab.model.models import Fit
from tuilab.model.result import PointArm, PointResult


def swept(times):
    """Return a sweep over batch sizes. times: the arms' seconds per call, by batch size."""
    return [
        PointResult(
            {"batch": size},
            tuple(
                PointArm(id=f"arm{i}", median_s=s, ci95_s=None, n=3, status="ok") for i, s in enumerate(arms)
            ),
        )
        for size, arms in times.items()
    ]


def test_the_smallest_batch_near_the_best_throughput_pays():
    # throughput: 1,000, 4,000, 9,500 and 10,000 examples per second
    assert paying(swept({1: [1e-3], 8: [2e-3], 38: [4e-3], 160: [16e-3]}), "batch") == 38


def test_the_faster_arm_of_each_batch_counts():
    assert paying(swept({1: [1e-3, 1e-4], 10: [9e-3, 9e-2]}), "batch") == 1


def test_fewer_than_two_measured_batches_say_nothing():
    assert paying(swept({4: [1e-3]}), "batch") is None
    assert paying(swept({4: [None], 8: [None]}), "batch") is None
    assert paying(swept({4: [1e-3], 8: [1e-3]}), "length") is None


def test_no_batch_pays_while_the_throughput_still_grows():
    still = swept({4: [1e-3], 8: [1e-3]})
    assert paying(still, "batch") is None and growing(still, "batch") == 8
    flat = swept({4: [1e-3], 8: [2e-3]})
    assert paying(flat, "batch") == 4 and growing(flat, "batch") is None


def test_a_batch_does_not_pay_because_the_next_ones_lie_near_it():
    """From batch size 58 to 64, the throughput still grows in proportion to the batch."""
    still = swept({50: [1e-3], 58: [1e-3], 64: [1e-3]})
    assert paying(still, "batch") is None and growing(still, "batch") == 64
    assert paying(swept({50: [1e-3], 58: [1.15e-3], 64: [1.27e-3]}), "batch") == 50


def fit(device: str, variant: str, batch: int, **about: object) -> Fit:
    usual = {"ended_by": "memory", "memory": 4_000_000_000, "source": "tried"}
    return Fit(device=device, variant=variant, batch=batch, **{**usual, **about})


def test_the_largest_fitting_batch_is_reported_for_each_device_with_the_reason():
    told = fitting(
        [
            fit("CPU:0", "inference", 65_536, ended_by="maximum", source="shapes"),
            fit("GPU:0", "inference", 900),
            fit("GPU:0", "training", 400),
            fit("GPU:1", "inference", 65_536, ended_by="maximum"),
            fit("GPU:1", "training", 400),
        ]
    )
    assert told == [
        "On CPU:0, batches of up to about 65,536 (the largest batch on the slider) fit into the 4.00 GB of free "
        "memory, estimated from tensor shapes; a recurrent layer may need more.",
        "On GPU:0, batches of up to 900 (inference) and 400 (training) fit into the 4.00 GB of free memory, "
        "as measured. Larger batches may not fit.",
        "On GPU:1, batches of up to 65,536 (inference, the largest batch on the slider) and 400 (training) fit "
        "into the 4.00 GB of free memory, as measured.",
    ]


def test_an_estimate_from_shapes_has_two_digits():
    (told,) = fitting([fit("CPU:0", "training", 10_364, source="shapes")])
    assert "batches of up to about 10,000 fit" in told
    (told,) = fitting([fit("CPU:0", "training", 97, source="shapes")])
    assert "about 97 fit" in told
