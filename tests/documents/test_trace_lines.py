"""The output of `python -m tuilab.documents FILE`, for authors of rules."""

from tuilab.documents.__main__ import main

ARTICLE = """# Timed
```python
import time
import tensorflow as tf
@tf.function
def f(x, y):
    return x @ y
a = tf.random.normal((64, 32))
t = time.time()
for _ in range(10):
    z = f(a, y=tf.transpose(a))
print(time.time() - t)
```
"""


def test_each_line_is_followed_by_what_it_does(tmp_path, capsys):
    file = tmp_path / "a.md"
    file.write_text(ARTICLE)
    assert main([str(file)]) == 0
    out = capsys.readouterr().out.split("\n")
    at = next(i for i, line in enumerate(out) if "z = f(a" in line)
    below = "\n".join(out[at + 1 : at + 4])
    # every argument, even a positional one, has the name of its parameter
    assert "graph f(x=float32[64, 32], y=float32[32, 64]) → float32[64, 64] · 10 times" in below
    assert any("tf.matmul" in line and "in tf.function" in line for line in out)
    assert any("region 0" in line and "printed at line 12" in line for line in out)


def test_a_missing_document_is_reported(tmp_path, capsys):
    assert main([str(tmp_path / "none.md")]) == 2
    assert "none.md" in capsys.readouterr().err
    assert main([]) == 2
