from types import SimpleNamespace

import pytest

from tuilab.model.arms import Arm
from tuilab.workloads import memory


@pytest.mark.parametrize(
    ("bases", "fell", "said"),
    [
        (["ResourceExhaustedError", "OpError"], False, "TensorFlow raised ResourceExhaustedError instead"),
        ([], True, "some tensors went to the host"),
        ([], False, ""),
    ],
    ids=["refused", "fell back", "limit ignored"],
)
def test_a_limit_that_a_device_ignores_shows_nothing_about_the_host(
    monkeypatch: pytest.MonkeyPatch, bases: list[str], fell: bool, said: str
) -> None:
    """An emulated GPU ignores the limit, so an allocation that succeeds there proves nothing."""
    grown = {
        "reached": 2**31,
        "bases": bases,
        "fell": fell,
        "caught": False,
        "usable": True,
        "device": "GPU:0",
    }
    child = SimpleNamespace(ask=lambda question, progress: grown)
    monkeypatch.setattr(memory, "_start", lambda b, settings: child)
    monkeypatch.setattr(memory.Child, "close", lambda child: None)
    facts: dict[str, tuple[object, str]] = {}
    b = SimpleNamespace(
        arm=Arm("GPU:0", "eager", variant="limited"),
        integer={"limit": 2**30, "step": 2**26, "bytes": 2**28}.get,
        fact=lambda name, value, text: facts.update({name: (value, text)}),
    )
    memory._under_limit(b).close()  # type: ignore[arg-type]
    value, text = facts.get("oom:fell-back", (False, ""))
    assert (value, said in text, bool(text)) == (fell, True, bool(said))
