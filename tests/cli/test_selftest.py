import asyncio
import json
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from tuilab.cli import selftest
from tuilab.cli.exits import DONE, FINDINGS
from tuilab.model.errors import WorkerError
from tuilab.model.events import Answer
from tuilab.model.selftest import Check, SelftestSummary

GOOD = Check(name="a-a", figure=0.025, limit="≤ 5%", passed=True, message="called different in 5 of 200 runs")
BAD = Check(name="drift", figure=None, limit="it runs", passed=False, message="ValueError: x")


def summary(*checks: Check) -> SelftestSummary:
    failed = sum(not check.passed for check in checks)
    return SelftestSummary(
        passed=not failed, idle=True, checks=len(checks), failed=failed, seconds=1.0, message="the end"
    )


@pytest.fixture
def worker_answers(monkeypatch: pytest.MonkeyPatch) -> list[msgspec.Struct]:
    answers: list[msgspec.Struct] = []

    class Asked:
        async def answers(self, kind: str, body: Any) -> AsyncIterator[Answer]:
            assert kind == "selftest"
            for one in answers:
                raw = msgspec.Raw(msgspec.json.encode(one))
                yield Answer(request="r", kind=type(one).__name__, body=raw, more=True)

    monkeypatch.setattr(
        selftest, "with_lab", lambda act: asyncio.run(act(SimpleNamespace(questions=Asked())))
    )
    return answers


def test_each_check_prints_a_line_with_its_figure_and_limit(worker_answers: list[msgspec.Struct]) -> None:
    worker_answers += [GOOD, BAD, summary(GOOD, BAD)]
    done = CliRunner().invoke(selftest.selftest, [])
    assert done.exit_code == FINDINGS
    assert "ok      a-a" in done.output and "0.025  (≤ 5%)" in done.output
    assert "FAILED  drift" in done.output and "the end" in done.output


def test_json_is_one_object(worker_answers: list[msgspec.Struct]) -> None:
    worker_answers += [GOOD, summary(GOOD)]
    done = CliRunner().invoke(selftest.selftest, ["--json"])
    assert done.exit_code == DONE
    printed = json.loads(done.output)
    (check,) = printed["checks"]
    assert {"name", "figure", "limit", "passed", "message"} <= set(check)
    assert printed["passed"] is True


def test_an_interrupted_self_test_is_an_error(worker_answers: list[msgspec.Struct]) -> None:
    worker_answers += [GOOD]
    with pytest.raises(WorkerError, match="without its summary"):
        selftest.with_lab(lambda lab: selftest.ask(lab, selftest.Selftest()))
