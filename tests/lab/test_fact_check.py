"""The claims of a document are measured one after another and get verdicts. The user can stop and
continue.
"""

import asyncio
from pathlib import Path

import pytest

from tests.lab.test_lab import lab
from tests.tui.scripted import CPU_MACHINE, GPU_MACHINE, ScriptedRunner
from tuilab.history.store import Store
from tuilab.lab import Lab, fact_check
from tuilab.lab.fact_check import Checker, bundled, open_fact_check
from tuilab.model.errors import InputError
from tuilab.report.fact_check import FactCheck, html, markdown, stamp, text


async def checked(tmp_path: Path, document: str = "000") -> FactCheck:
    check, presets = bundled(document)
    made, _ = lab(tmp_path, rounds=6)
    async with made:
        await Checker(made, check, presets).run()
    return check


async def test_every_statement_of_a_bundled_document_gets_a_verdict(tmp_path):
    check = await checked(tmp_path)
    assert check.statements and check.left == 0
    assert all(s.evidence and s.run and s.mark in "✓✗≈?⊘" for s in check.statements)
    assert f"{len(check.statements)} of {len(check.statements)} measured: " in check.summary()


async def test_a_fact_check_continues_where_it_stopped(tmp_path):
    check, presets = bundled("000")
    made, _ = lab(tmp_path, rounds=6)
    async with made:
        checker = Checker(made, check, presets)
        checker._told = lambda: (
            checker.stop() if 0 < len(check.statements) - check.left < 3 and check.going else None
        )
        await checker.run()
        measured = len(check.statements) - check.left
        assert 0 < measured < len(check.statements) and not check.going
        kept = [s.run for s in check.statements if s.run]
        checker._told = lambda: None
        await asyncio.wait_for(checker.run(), 60)
    assert check.left == 0
    assert [s.run for s in check.statements if s.run][: len(kept)] == kept


async def test_the_page_names_machine_and_date_and_escapes_markup(tmp_path):
    check = await checked(tmp_path)
    check.statements[0].text = "<script>alert(1)</script> | *bold*"
    page, paper, plain = html(check), markdown(check), text(check)
    assert "<script>alert" not in page and "&lt;script&gt;" in page
    assert "\\<script\\>" in paper and "\\| \\*bold\\*" in paper
    for made in (page, paper, plain):
        assert check.machine.host in made and check.at[:10] in made
    assert stamp(FactCheck(title="t", statements=[])) == "Not measured yet."


def test_an_unknown_document_lists_the_known_ones(tmp_path):
    with pytest.raises(InputError, match=r"000 \("):
        open_fact_check("999")


TIMED = "import time\nimport tensorflow as tf\na = tf.ones((200, 200))\nt = time.time()\ntf.matmul(a, a)\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("No code at all.", "it contains no code"),
        ("```python\nprint(1)\n```", "1 piece of code found, but none times an op"),
        (
            f"```python\n{TIMED}print(time.time() - t)\n```",
            "with 1 benchmark that tuilab can measure, but no sentence nearby claims that one device or mode is faster",
        ),
    ],
)
def test_a_document_without_measurable_claims_says_what_is_missing(tmp_path, text, says):
    (tmp_path / "article.md").write_text(f"# An article\n\n{text}\n")
    with pytest.raises(InputError) as raised:
        open_fact_check(str(tmp_path / "article.md"))
    assert says in str(raised.value) and "got" not in str(raised.value)


def test_the_claims_of_an_article_are_found(tmp_path):
    documents = Path(__file__).resolve().parents[3] / "shared" / "documents"
    if not documents.is_dir():
        pytest.skip("the source documents are not next to this checkout")
    check, presets = fact_check.article(next(documents.glob("000*")))
    assert {s.preset for s in check.statements} - {""} == {p.name for p in presets if p.claims}
    assert all(s.line for s in check.statements)


def test_each_claim_of_an_article_has_the_line_of_its_sentence(tmp_path):
    article = tmp_path / "a.md"
    code = "import tensorflow as tf\na = tf.ones((512, 512))\ntf.matmul(a, a)"
    article.write_text(
        f"# A\n\n```python\n{code}\n```\n\nSome words.\n\nThe GPU is 3x faster than the CPU.\n"
    )
    check, _ = fact_check.article(article)
    assert [s.line for s in check.statements] == [11]


async def test_a_claim_whose_example_is_not_measured_says_so(tmp_path):
    article = tmp_path / "a.md"
    code = "import tensorflow as tf\na = tf.ones((512, 512))\ntf.matmul(a, a)"
    article.write_text(
        f"```python\n{code}\n```\n\nThe CPU is faster than the GPU here.\n\n"
        "The GPU is 3x faster than the CPU for a 4096x4096 matmul.\n"
    )
    check, presets = fact_check.article(article)
    made, _ = lab(tmp_path, rounds=6)
    async with made:
        await Checker(made, check, presets).run()
    near, other = check.statements
    assert near.run and near.evidence != fact_check.UNMEASURED
    assert (other.line, other.verdict, other.run) == (9, "untestable", "")
    assert other.evidence == fact_check.UNMEASURED


def test_an_article_with_only_untestable_comparisons_lists_them(tmp_path):
    article = tmp_path / "a.md"
    article.write_text(
        "```python\nimport tensorflow as tf\na = tf.ones((512, 512))\ntf.matmul(a, a)\n```\n\n"
        "Graph mode is faster than eager mode in production.\n"
    )
    check, presets = fact_check.article(article)
    (statement,) = check.statements
    assert (statement.line, statement.verdict) == (7, "untestable") and "“production”" in statement.evidence
    assert presets == []


def test_a_time_without_a_comparison_is_listed(tmp_path):
    article = tmp_path / "a.md"
    article.write_text(
        "```python\nimport tensorflow as tf\na = tf.ones((512, 512))\ntf.matmul(a, a)\n```\n\n"
        "One product takes about 3 ms. The recording lasts 3 s. A frame needs 2 s of audio. Expect 5 ms per call.\n"
    )
    check, _ = fact_check.article(article)
    assert {each.text for each in check.statements} == {
        "One product takes about 3 ms.", "Expect 5 ms per call."
    }  # fmt: skip
    assert all(each.verdict == "untestable" for each in check.statements)
    assert all("its author's machine" in each.evidence for each in check.statements)


def test_a_claim_about_an_example_that_has_no_preset_is_listed(tmp_path):
    article = tmp_path / "a.md"
    article.write_text(
        "```python\nimport tensorflow as tf\na = tf.ones((512, 512))\ntf.matmul(a, a)\n```\n\n"
        "The CPU is faster than the GPU for this matmul.\n\n"
        "```python\nx = open('audio.wav').read()\n```\n\nXLA is 2x faster than eager.\n"
    )
    check, _ = fact_check.article(article)
    assert [(s.line, bool(s.preset)) for s in check.statements] == [(7, True), (13, False)]
    assert check.statements[1].evidence == fact_check.UNMEASURED


GRAPH = """# Graphs

```python
import tensorflow as tf

@tf.function
def step(v):
    return tf.matmul(v, v)

with tf.device('/GPU:0'):
    step(tf.ones((128, 128)))
```

Words. On my machine the step takes 2 ms with tf.function. Eagerly it
takes 1 ms. So tf.function is 2× slower.
"""


async def decided(tmp_path, machine, text):
    """Return the only claim of an article after it was measured."""
    (tmp_path / "graph.md").write_text(text)
    check, presets = fact_check.article(tmp_path / "graph.md")
    async with Lab(
        runner=lambda on_event: ScriptedRunner(on_event, machine, rounds=6),
        store=lambda: Store.open(tmp_path),
    ) as made:
        await Checker(made, check, presets).run()
    (statement,) = check.statements
    return statement


@pytest.mark.parametrize("machine", [CPU_MACHINE, GPU_MACHINE])
async def test_a_claim_about_modes_is_tried_on_the_cpu_without_a_gpu(tmp_path, machine):
    statement = await decided(tmp_path, machine, GRAPH)
    assert statement.verdict in ("confirmed", "refuted"), statement.evidence
    assert statement.line == 14
    assert statement.evidence.startswith("Without a GPU, on the CPU: ") is (machine is CPU_MACHINE)


@pytest.mark.parametrize("machine", [CPU_MACHINE, GPU_MACHINE])
async def test_a_claim_about_modes_on_a_gpu_is_decided_by_a_gpu_alone(tmp_path, machine):
    statement = await decided(tmp_path, machine, GRAPH.replace("my machine", "my GPU machine"))
    assert (statement.verdict == "untestable") is (machine is CPU_MACHINE)
    assert ("No GPU is visible" in statement.evidence) is (machine is CPU_MACHINE)


def test_the_command_prints_each_verdict_and_writes_a_page(tmp_path, monkeypatch, capsys):
    from tuilab.cli import fact_check as command

    async def measured(act):
        made, _ = lab(tmp_path, rounds=6)
        async with made:
            return await act(made)

    monkeypatch.setattr(command, "with_lab", lambda act: asyncio.run(measured(act)))
    assert command.measure_document("000", tmp_path / "page.html", "quick") == 0
    claims = sum(len(preset.claims) for preset in bundled("000")[1])
    told = capsys.readouterr().out
    assert sum(line[:1] in "✓✗≈?⊘" and ": " in line for line in told.splitlines()) == claims
    assert f"{claims} of {claims} measured" in told and "<html" in (tmp_path / "page.html").read_text()
