"""The rules explained, from their docstrings: docs/checker.md, which `python docs/make.py` writes."""

from tuilab.documents.rules import RULES, Rule

HEAD = """\
# The checker

Made by `python docs/make.py` from the docstrings of the rules' functions.

`tuilab check` reads Markdown, text, Python files and Jupyter notebooks that measure TensorFlow, and says what
their figures are of. Nothing in them is run.

```sh
tuilab check article.md notebook.ipynb docs/    # files, folders, patterns; - for standard input
tuilab check --explain TL103                    # why a rule matters, with a wrong and a right example
tuilab check --format full article.md           # also the presets it makes, and what was not understood
tuilab check --diff .                           # what --fix would change
tuilab check --fix .                            # what needs no thought: clocks, renamed functions
```

A finding is `path:line:column: CODE message`, in a notebook `path:cell 3:line:column`. `--format` also has
`json`, `sarif` and `github`. Exit codes: 0 nothing at or above `--fail-on` (default `error`), 1 findings,
2 bad input. `--diff` ends with 1 where there is something to fix.

- **error**: the code stops, or the figure is not what it says it is.
- **warning**: the figure may mislead.
- **note**: said in passing, and shown with `--level note`. What only logs how long a training took is no
  benchmark: findings there are notes.
- *preview*: found with `--preview` only.

Where a call is not understood, what it may have computed, waited for or warmed up is not held against the
document. A document of TensorFlow 1 gets one sentence; `--target 1` leaves its names alone, `--target 2`
lists each.

`# noqa: TL103` on a line leaves a finding out, `<!-- tuilab: ignore TL103 -->` above an example those in it,
`ignore-file` instead of `ignore` those of the document. A project's settings:

```toml
[tool.tuilab.check]
select = ["TL0", "TL1"]        # codes or their beginnings; all without it
ignore = ["TL107"]
preview = false
fail-on = "warning"
level = "warning"
target = "auto"
exclude = ["old/*"]
baseline = "known.json"        # written by --write-baseline known.json
```

As a hook of pre-commit:

```yaml
- repo: https://example.org/tuilab   # where your copy lies
  rev: v0.2.0
  hooks:
    - id: tuilab-check
```

In the examples below `import tensorflow as tf`, `numpy as np` and `time` have happened, and `x` and `y` are
float32 tensors of 512×512.
"""


def explained(rule: Rule) -> str:
    """One rule as Markdown."""
    prose = rule.code in ("TL306", "TL307", "TL308")
    fence = "text" if prose else "python"
    return (
        f"## {rule.code} · {rule.title}\n\n*{_severity(rule)}*\n\n{rule.what}\n\n"
        f"**Why it matters.** {rule.why}\n\n"
        f"**Instead.** {rule.remedy}\n\nWrong:\n\n```{fence}\n{rule.wrong}\n```\n\n"
        f"Right:\n\n```{fence}\n{rule.right}\n```\n"
    )


def document() -> str:
    """docs/checker.md."""
    rows = "| code | finding | severity |\n|---|---|---|\n"
    rows += "".join(f"| {r.code} | {r.title} | {_severity(r)} |\n" for r in RULES)
    return "\n".join([HEAD, rows, *map(explained, RULES)])


def _severity(rule: Rule) -> str:
    return rule.severity + (", preview" if rule.preview else "")
