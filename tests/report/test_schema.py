"""The JSON Schemas printed by `tuilab schema` describe the data that commands print and read."""

import json
import tomllib
from functools import cache
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import msgspec
import pytest

from tests.calling import here
from tests.conftest import fold
from tests.tui.recorded import events_of
from tuilab.analysis.summary import summarise
from tuilab.report.schema import SCHEMAS, schema

PRESETS = Path(__file__).parents[2] / "presets"


@cache
def validator(name: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(schema(name))


def validate(name: str, data: object) -> None:
    error = jsonschema.exceptions.best_match(validator(name).iter_errors(data))
    if error is not None:
        raise error


@pytest.mark.parametrize("name", SCHEMAS)
def test_each_schema_is_valid_and_describes_its_fields(name):
    found = schema(name)
    jsonschema.Draft202012Validator.check_schema(found)
    fields = [field for part in found["$defs"].values() for field in part.get("properties", {}).values()]
    assert sum("description" in field for field in fields) > len(fields) / 4


def test_the_command_prints_the_schema():
    done = here("schema", "run")
    assert done.returncode == 0 and json.loads(done.stdout) == json.loads(msgspec.json.encode(schema("run")))


def test_a_recorded_run_and_its_result_match_the_schema():
    events = events_of("run")
    for event in events:
        validate("event", json.loads(msgspec.json.encode(event)))
    result = json.loads(msgspec.json.encode(summarise(fold(list(events)))))
    validate("run", result)
    del result["arms"][0]["id"]
    with pytest.raises(jsonschema.ValidationError, match="'id' is a required property"):
        validate("run", result)


@pytest.mark.parametrize("file", sorted(PRESETS.glob("*.toml")), ids=lambda file: file.stem)
def test_shipped_presets_match_the_schema(file):
    validate("preset", tomllib.loads(file.read_text()))
