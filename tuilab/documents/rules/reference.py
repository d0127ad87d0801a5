"""The rules explained, from their docstrings: docs/checker.md.

`python -m tuilab.documents.rules.reference` writes it, from the root of the repository.
"""

from pathlib import Path

from tuilab.documents.rules import RULES, Rule

HEAD = """\
# What `tuilab check` looks for

Made from the rules' own docstrings by `python -m tuilab.documents.rules.reference`; a test holds it to them.

- **error**: the code stops, or the figure is not what it says it is.
- **warning**: the figure may mislead.
- **note**: said in passing, and never a reason to fail. What only logs how long a training took is no
  benchmark: findings there are notes.
- *preview*: found with `--preview` only.

In the examples `import tensorflow as tf`, `numpy as np` and `time` have happened, `x` and `y` are float32
tensors of 512×512, and `t = time.perf_counter()` is the reading that a last line subtracts.
"""


def explained(rule: Rule) -> str:
    """One rule as Markdown."""
    kind = rule.severity + (", preview" if rule.preview else "")
    prose = rule.code in ("TL306", "TL307", "TL308")
    fence = "text" if prose else "python"
    return (
        f"## {rule.code} · {rule.title}\n\n*{kind}*\n\n{rule.what}\n\n**Why it matters.** {rule.why}\n\n"
        f"**Instead.** {rule.remedy}\n\nWrong:\n\n```{fence}\n{rule.wrong}\n```\n\n"
        f"Right:\n\n```{fence}\n{rule.right}\n```\n"
    )


def document() -> str:
    """docs/checker.md."""
    rows = "| code | finding | severity |\n|---|---|---|\n" + table()
    return "\n".join([HEAD, rows, *map(explained, RULES)])


def table() -> str:
    """A row a rule."""
    return "".join(
        f"| {r.code} | {r.title} | {r.severity}{', preview' if r.preview else ''} |\n" for r in RULES
    )


def main() -> None:
    """Write it."""
    Path("docs").mkdir(exist_ok=True)
    Path("docs/checker.md").write_text(document(), encoding="utf-8")


if __name__ == "__main__":
    main()
