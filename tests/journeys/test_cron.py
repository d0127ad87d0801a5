"""Commands without standard streams, HOME or TERM, as cron, a service or a careless script runs them."""

import json

import pytest

from tests.journeys.user import User

pytestmark = pytest.mark.timeout(300)
CLOSED = (">&-", "2>&-", "<&-", "<&- >&- 2>&-")
ARTICLE = """```python
import tensorflow as tf
print(tf.matmul(tf.ones((8, 8)), tf.ones((8, 8))))
```
"""


def test_a_night_job_measures(user: User) -> None:
    """The job has no standard streams, HOME or TERM. Its measurements are saved in `TUILAB_DATA`."""
    data = user.home / "data"
    user.environment = {"PATH": user.environment["PATH"], "TUILAB_DATA": str(data)}
    user.environment |= {
        "XDG_STATE_HOME": str(data),
        "XDG_CONFIG_HOME": str(data),
        "TMPDIR": str(user.home / "tmp"),
    }
    user.run("tuilab run stft-small --budget quick --json > night.json <&- 2>&-")
    night = json.loads((user.home / "night.json").read_text())
    assert any(arm["status"] == "ok" for arm in night["arms"])
    fields = json.loads(user.run("tuilab schema run").out)["$defs"]["RunResult"]["properties"]
    assert night.keys() <= fields.keys()
    (run,) = user.history()
    assert run["preset"] == "stft-small" and run["status"] == "ok"
    refused = user.run("tuilab", code=2)
    assert "needs a terminal" in refused.err and len(refused.err.splitlines()) == 1


def test_a_shell_completes_words(user: User) -> None:
    assert "watch" in user.run("tuilab --help").out
    (user.home / ".tuilab-complete.bash").write_text(user.run("tuilab completion bash").out)
    asked = "source ./.tuilab-complete.bash; COMP_WORDS=(tuilab sel) COMP_CWORD=1; _tuilab_completion tuilab; echo $COMPREPLY"
    assert user.run(asked).out.strip() == "selftest"


@pytest.mark.parametrize(
    "closed", [CLOSED[0], *(pytest.param(each, marks=pytest.mark.long) for each in CLOSED[1:])]
)
def test_every_command_works_with_closed_streams(user: User, closed: str) -> None:
    """No command reports an internal error. With standard error closed, results still go to standard
    output.
    """
    user.write("article.md", ARTICLE)
    user.write("program.py", "print('hello')\n")
    listens = {0: "</dev/null"}.get(closed.count("<"), "")
    gone = ">&-" in closed.split()
    lines = {
        "tuilab --help": "Usage", "tuilab presets": "stft-small", "tuilab history": "", "tuilab hosts": "",
        "tuilab schema run": "RunResult", "tuilab check article.md": "", "tuilab new mine": "",
        "tuilab watch program.py": "hello", "tuilab export last": "", "tuilab worker": "",
    }  # fmt: skip
    if closed == CLOSED[0]:
        lines |= {
            "tuilab completion bash": "", "tuilab check --rules": "", "tuilab import article.md": "",
            "tuilab doctor": "", "tuilab explain MatMul --dtype int32": "", "tuilab history check": "",
        }  # fmt: skip
    for line, words in lines.items():
        if line == "tuilab worker" and "<&-" not in closed:
            line = "tuilab worker < /dev/null"
        done = user.run(f"{line} {listens} {closed}", code=(0, 1, 2))
        assert "internal error" not in done.out + done.err
        assert gone or words in done.out, f"{line} {closed}: {done}"
