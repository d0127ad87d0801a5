"""The doctor's child process prints each stage of its startup as a line that can be read back."""

import pytest

from tuilab.model.doctor import Began, Built, Imported, Listed, ListedGpu, Stage, Tried, decode, encode

STAGES = (
    Began(what="import"),
    Imported(version="2.21.0"),
    Built(cuda=False),
    Listed(gpus=(ListedGpu(name="GPU:0"),)),
    Tried(what="a product\nof two", device="GPU:0", seconds=0.5),
)


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: type(stage).__name__)
def test_a_stage_is_one_line(stage: Stage) -> None:
    line = encode(stage)
    assert line.endswith(b"\n") and line.count(b"\n") == 1 and decode(line) == stage
