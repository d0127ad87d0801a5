"""A user checks an article, proves a finding, measures the claims, and imports and fixes the examples."""

import json

import pytest

from tests.journeys.user import User, figures

pytestmark = pytest.mark.timeout(300)
ARTICLE = """# A product

```python
import time
import tensorflow as tf

x = tf.random.normal((512, 512))
tf.matmul(x, x)
start = time.time()
tf.matmul(x, x)
print(time.time() - start)
```
"""


def test_an_article_is_checked_and_proved_and_imported(user: User) -> None:
    user.write("article.md", ARTICLE)
    user.write("docs/further.md", ARTICLE)
    found = user.run("tuilab check article.md", code=(0, 1))
    assert "article.md:" in found.out and "TL1" in found.out
    annotated = user.run("tuilab check docs/ --format github", code=(0, 1)).out
    assert annotated.startswith("::") and "docs/further.md" in annotated
    proved = user.run("tuilab check --prove article.md", code=(0, 1))
    assert figures(proved.out) or "×" in proved.out
    user.run("tuilab check article.md --measure", code=(0, 1, 2, 4))
    user.run("tuilab import article.md")
    own = [
        preset for preset in json.loads(user.run("tuilab presets --json").out) if "article" in preset["name"]
    ]
    assert own, "an imported preset is listed"
    user.run(f"tuilab run {own[0]['name']} --budget quick --json")
    user.run("tuilab check --diff .", code=(0, 1))
    user.run("tuilab check --fix .", code=(0, 1))
    assert "time.perf_counter()" in (user.home / "article.md").read_text()


@pytest.mark.long
def test_a_bundled_documents_claims_are_measured_until_stopped(user: User) -> None:
    user.begins_and_stops("tuilab check 000 --measure -o page.html")


@pytest.mark.long
def test_an_article_is_read_in_the_lab(user: User) -> None:
    user.write("article.md", ARTICLE)
    with user.opens("tuilab") as lab:
        lab.see("ready", seconds=120)
        lab.press("o")
        lab.see("Open")
        lab.press("article.md\r")
        lab.see("TL1", seconds=30)
        user.leaves(lab, "\x11")
