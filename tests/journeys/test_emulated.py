"""A user works with an emulated GPU, from the first run to the crossover. Each page says that the GPU is
emulated.
"""

import json

import pytest

from tests.emulated_gpu import build
from tests.journeys.user import User

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def gpu(user: User) -> User:
    """Return a user whose machine has an emulated GPU. Skips the test if there is no emulation."""
    try:
        made = build.environment(1)
    except build.Missing as error:
        pytest.skip(f"no emulated GPU: {error}")
    user.environment |= made | {"PYTHONPATH": str(build.wheel())}
    return user


@pytest.mark.long
def test_a_user_gets_from_the_first_run_to_the_crossover(gpu: User) -> None:
    with gpu.opens("tuilab --preset stft-small") as lab:
        lab.see("ready", "EMULATED", seconds=120)
        lab.press("r")
        lab.see("done,", seconds=150)
        lab.press("2")
        lab.see("GPU graph", "GPU:0")
        lab.press("6")
        lab.see("on GPU:0")
        gpu.leaves(lab)
    line = "tuilab sweep stft-crossover --axis samples=256:64k:x16 --budget quick --mode graph --json"
    swept = json.loads(gpu.run(line).out)
    assert len(swept["points"]) >= 3 and "crossover" in swept
    assert swept["machine"]["gpus"] == ["EMULATED"]
    assert "emulated" in gpu.run("tuilab export last --format md").out.lower()
    told = gpu.run("tuilab doctor", code=(0, 1))
    assert "EMULATED" in told.out
