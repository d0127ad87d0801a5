import codecs
import json

import pytest

from tests.documents.expected import report_of
from tuilab.documents import read
from tuilab.documents.reading.decode import decode
from tuilab.documents.reading.source import from_bytes, open_document
from tuilab.model.errors import InputError

CODE = "import tensorflow as tf\nx = tf.ones(3)"


def blocks(text: str, name: str = "x.md"):
    return from_bytes(text.encode(), name).blocks


@pytest.mark.parametrize(
    "text",
    [
        f"```python\n{CODE}\n```",
        f"```py3 title='x'\n{CODE}\n```",
        f"``` {{.python .numberLines}}\n{CODE}\n```",
        f"```{{code-cell}} ipython3\n{CODE}\n```",
        f"~~~~\n{CODE}\n~~~~~~",
        f"```\n{CODE}\n```",
        f"````python\n{CODE}\n````",
        f"```python\n{CODE}",
        "- item\n\n  ```python\n  import tensorflow as tf\n  x = tf.ones(3)\n  ```",
        f"> ```python\n{CODE}\n> ```",
        "Text:\n\n    import tensorflow as tf\n    x = tf.ones(3)\n\nText.",
        "Text:\n\n\timport tensorflow as tf\n\tx = tf.ones(3)\n",
        "<pre>\nimport tensorflow as tf\nx = tf.ones(3)\n</pre>",
        "<pre><code class='language-python'>import tensorflow as tf\nx = tf.ones(3)</code></pre>",
        ">>> import tensorflow as tf\n>>> x = tf.ones(3)\n<tf.Tensor>\n",
    ],
)
def test_one_example_is_found(text):
    (block,) = blocks(text)
    assert "tf.ones(3)" in block.code
    report = read(text.encode(), None, name="x.md")
    (example,) = report.examples
    assert "tf.ones(3)" in "\n".join(report.lines[example.line - 1 : example.last_line])
    assert not [u for u in example.unresolved if "Python" in u.reason]


@pytest.mark.parametrize(
    "text",
    [
        "```bash\npip install tensorflow\n```",
        "```json\n{}\n```",
        "```\n$ nvidia-smi\n+------+\n```",
        "    Note that the following holds:\n    all is well.\n",
        "Just text with `import tensorflow` in it.",
        "",
        "```python\n\n```",
        "    Note: this\n",
    ],
)
def test_text_that_is_not_python_is_not_an_example(text):
    assert blocks(text) == ()


def test_a_fence_that_opens_before_the_last_one_closed():
    found = blocks(f"```\noutput\n```python\n{CODE}\n```\n\n```python\ny = 1\n```")
    assert [b.line for b in found] == [4, 9]


def test_front_matter_of_both_kinds():
    for text in (
        "---\ntitle: 'A \"b\"'\ndate: 2024-01-02\nslug: a-b\n---\n",
        '+++\ntitle = "A \\"b\\""\nid="a-b"\n+++\n',
    ):
        document = from_bytes(text.encode(), "000_x.txt")
        assert (document.title, document.id, document.number) == ('A "b"', "a-b", "000")
    assert from_bytes(b"---\nno end", "x.md").id == "x"
    assert from_bytes(b"# Head\n\n```python\nx = 1\n```", "x.md").title == "Head"


def test_headings_and_the_prose_that_belongs_to_each():
    text = (
        f"Intro.\n\n**Example 1: One**\n\n```python\n{CODE}\n```\nAbout one.\n\nExample 2\n---------\n\n"
        f"```python\n{CODE}\n```\n\nAbout two.\n\nHere is the third:\n\n```python\n{CODE}\n```\nAbout three."
    )
    one, two, three = blocks(text)
    assert (one.heading, two.heading, three.heading) == ("Example 1: One", "Example 2", "Here is the third")
    assert "About one." in [p.text for p in one.after]
    assert "About two." in [p.text for p in two.after]
    assert "Here is the third:" in [p.text for p in three.before]
    assert "Here is the third:" not in [p.text for p in two.after]
    assert "About three." in [p.text for p in three.after]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252"])
def test_encodings(encoding):
    text = "« Fréquences »\n\n```python\r\nname = 'é'\r\n```\n"
    assert decode(text.encode(encoding)) == text.replace("\r\n", "\n")


def test_broken_encodings_keep_what_is_good():
    data = "Fréquences é è à\n".encode() + b"\xff\n```python\nx = 1\n```"
    assert decode(data).startswith("Fréquences é è à\n\ufffd\n")
    assert decode(codecs.BOM_UTF16_LE + b"a") == "\ufffd"
    assert "\x00" not in decode(b"a\x00b")


def test_scripts_and_standard_input():
    assert blocks(CODE, "x.py")[0].line == 1
    assert blocks(CODE, "")[0].code == CODE
    assert blocks(f"# Title\n\n```python\n{CODE}\n```", "")[0].line == 4
    assert blocks(json.dumps({"cells": [{"cell_type": "code", "source": [CODE]}]}), "")[0].notebook


def test_broken_python_is_read_around():
    report = read(f"{CODE}\nx = = 1\ny = tf.signal.lfilter(x)\n".encode(), None, name="x.py")
    (example,) = report.examples
    assert [(u.line, u.reason) for u in example.unresolved if "Python" in u.reason] == [
        (3, "not Python: invalid syntax")
    ]


def test_a_broken_line_inside_a_function_costs_that_line():
    code = "def f(x):\n    y = x\n    %$ what\n    return tf.matmul(x, x)\n\nf(tf.ones((8, 8)))\n"
    report = read(f"import tensorflow as tf\n{code}".encode(), None, name="x.py")
    assert [p.parameters["m"] for p in report.presets] == [8]


def test_notebooks():
    cells = [
        {"cell_type": "markdown", "source": "# Title\n\ntext"},
        {"cell_type": "code", "source": ["import tensorflow as tf\n", "%matplotlib inline\n"]},
        {"cell_type": "raw", "source": "x"},
        {"cell_type": "code", "source": "%%bash\nls"},
        {"cell_type": "code", "source": "%%timeit\ntf.ones((4, 4)) @ tf.ones((4, 4))"},
    ]
    report = read(json.dumps({"cells": cells, "metadata": {}}).encode(), None, name="n.ipynb")
    assert report.document.title == "Title"
    assert [e.heading for e in report.examples] == ["Title (cell 2)", "Title (cell 4)", "Title (cell 5)"]
    assert report.lines[report.examples[0].line - 2] == "# %% cell 2"
    assert [p.workload for p in report.examples[2].presets] == ["matmul"]
    assert not [u for e in report.examples for u in e.unresolved if "not Python" in u.reason]


def test_a_notebook_that_is_none():
    report = read(b"{nope", None, name="n.ipynb")
    assert report.examples == () and "notebook" in report.notes[0].reason


def test_a_document_that_is_not_there():
    with pytest.raises(InputError, match="no-such-file"):
        open_document("no-such-file.md")


def test_text_for_the_screen_is_clean_and_lines_keep_their_numbers():
    report = read(b"a\x1b[31mb\x07\n\n```python\nx = 1  # \xe2\x80\xae\n```\n", None, name="x.md")
    assert report.lines[0] == "ab"
    assert report.lines[3] == "x = 1  # "


def test_findings_are_next_to_their_lines():
    from tests.documents.expected import DATA

    report = report_of(DATA / "class_benchmark.py")
    assert {f.code for f in report.findings[line_with(report, "with tf.device(device)")]} == {"TL302"}


def line_with(report, text: str) -> int:
    return next(n for n, line in enumerate(report.lines, start=1) if text in line)


def test_code_beyond_the_limit_is_reported_as_not_checked():
    many = "\n".join("```python\nx = 1\n```" for _ in range(1_200))
    report = read(many.encode(), None, name="x.md")
    assert len(report.examples) == 1_000
    assert "not checked" in report.notes[0].reason
    long = "x = 1\n" * 100_000
    report = read(long.encode(), None, name="x.py")
    assert "not checked" in report.notes[0].reason
