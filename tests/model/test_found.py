"""All findings have the same levels of severity and the same format, and their names in JSON do not
change.
"""

import msgspec
import pytest

from tuilab.documents.rules.rule import Finding
from tuilab.model.doctor import Cause
from tuilab.model.found import Found, at_least
from tuilab.model.program import Bottleneck
from tuilab.model.result import CaveatLine, Diagnosis


@pytest.mark.parametrize(
    ("kind", "stored"),
    [
        (Bottleneck, b'{"code": "input-bound", "message": "it waits", "change": "prefetch"}'),
        (Cause, b'{"code": "hidden", "cause": "it waits", "mend": "prefetch"}'),
        (Diagnosis, b'{"code": "stalled", "severity": "note", "sentence": "it waits", "remedy": "prefetch"}'),
        (Finding, b'{"code": "TL101", "line": 3, "message": "it waits", "remedy": "prefetch"}'),
    ],
)
def test_json_of_earlier_versions_is_read_and_its_names_are_written(kind, stored):
    found = msgspec.json.decode(stored, type=kind)
    assert isinstance(found, Found) and found.words == "it waits. prefetch."
    assert set(msgspec.json.decode(stored)) <= set(msgspec.json.decode(msgspec.json.encode(found)))


def test_a_caveat_without_a_remedy_has_two_fields():
    assert msgspec.json.encode(CaveatLine("drift", "it slowed down")) == (
        b'{"code":"drift","message":"it slowed down"}'
    )


def test_one_scale_of_severity():
    assert at_least("error", "warning") and at_least("note", "note") and not at_least("warning", "error")
    assert Found("a", "b", severity="error").kind == "" and Found("a", "b", severity="note").kind == "note: "


def test_a_sentence_gets_one_full_stop():
    assert Found("a", "It waits.", "Prefetch").words == "It waits. Prefetch."
