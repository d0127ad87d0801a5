"""A worker may open only the files of an untrusted model that its request names."""

import json

import msgspec
import pytest

from tuilab.model import requests as r
from tuilab.model.scenario import BUDGET, Opening, Scenario

OPENING = Opening(data="/data", code="/code.py")
CONFINED = json.dumps(["/x/net.keras", "/data", "/code.py"])


def of_kind(kind: str, file: str, opening: Opening) -> r.Request:
    scenario = Scenario("net", {}, file=file, opening=opening)
    if kind == "declare":
        return r.Declare(id="1", file=file, opening=opening)
    if kind == "measure":
        return r.Measure(id="1", scenario=scenario, arms=(), budget=BUDGET["quick"])
    body = msgspec.Raw(msgspec.json.encode({"scenario": scenario, "arms": []}))
    return r.Ask(id="1", kind="explain-scenario", body=body)


@pytest.mark.parametrize("kind", ["declare", "measure", "ask"])
def test_only_an_untrusted_model_confines_its_worker(kind: str) -> None:
    assert r.confined_to(of_kind(kind, "/x/net.keras", OPENING)) == CONFINED
    assert r.confined_to(of_kind(kind, "/x/mine.py:step", OPENING)) == ""
    assert r.confined_to(of_kind(kind, "", OPENING)) == ""
    trusted = msgspec.structs.replace(OPENING, trust=True)
    assert r.confined_to(of_kind(kind, "/x/net.keras", trusted)) == ""


def test_a_request_without_code_does_not_confine() -> None:
    for request in (
        r.Cancel(id="1"),
        r.Painted(id="1"),
        r.Shutdown(id="1"),
        r.Ask(id="1", kind="roofs"),
        r.Ask(id="1", kind="x", body=msgspec.Raw(b'{"scenario": null}')),
    ):
        assert r.confined_to(request) == ""
