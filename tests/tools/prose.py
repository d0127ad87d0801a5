"""Checks the prose of the named files, or of all files: `python -m tests.tools.prose [FILE ...]`.

Finds banned words, sentences over 30 words in Markdown, and commit subjects over 65 characters.
"""

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

LONGEST_SENTENCE, LONGEST_SUBJECT = 30, 65
FIRST_COMMIT_CHECKED = "2026-11-27"
EXEMPT = re.compile(
    r"/data/|__snapshots__|docs/formats\.md|\w+/benchmarks/.*\.md|tests/tools/(test_)?prose\.py"
)
"""Files that are not checked: data, generated pages, recorded figures, and files with the banned words."""
BANNED = re.compile(
    r"\b((?:told|beside|anew)(?! apart|:)|nought|befalls?|whoever|likewise|so many|mend(?:s|ed|ing)?|bears|gone? on with|dear ones?|"
    r"of (?:the host|XLA|Keras|Textual|a person)'s(?! own)|(?<!there )is no (?!longer|more\b|faster|slower|larger|smaller|greater|higher|later))\b",
    re.IGNORECASE,
)
"""Words that we would not say to a colleague. They are allowed in back quotes."""
NOT_PROSE = re.compile(r"^```.*?^```|^\|.*?$|<!--.*?-->", re.MULTILINE | re.DOTALL)
BLOCKS = re.compile(r"(\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )|\n(?=#))")


def texts(path: Path) -> Iterator[tuple[int, str]]:
    source = path.read_text(encoding="utf-8")
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield from enumerate(node.value.splitlines(), node.lineno)


def sentences(path: Path) -> Iterator[tuple[int, str]]:
    text = NOT_PROSE.sub(lambda found: "\n" * found[0].count("\n"), path.read_text(encoding="utf-8"))
    line = 1
    for block in BLOCKS.split(text):
        for sentence in re.split(r"(?<=[.!?:;])[\s*)\"]+", block):
            yield line, " ".join(sentence.split())
        line += block.count("\n")


def faults(path: Path) -> Iterator[str]:
    paper, lines = path.suffix == ".md", enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
    for line, text in sentences(path) if paper else texts(path) if path.suffix == ".py" else lines:
        for word in BANNED.findall(re.sub(r"`[^`]*`", "", text)):
            yield f"{path}:{line}: '{word}' is banned (tests/tools/prose.py): {text.strip()[:80]}"
        if paper and len(text.split()) > LONGEST_SENTENCE:
            yield f"{path}:{line}: {len(text.split())} words, at most {LONGEST_SENTENCE}: {text[:80]}"


def git(*words: str) -> list[str]:
    return subprocess.run(["git", *words], capture_output=True, text=True).stdout.splitlines()


def main(names: list[str]) -> int:
    subjects = git("log", f"--since={FIRST_COMMIT_CHECKED}", "--format=%s")
    found = [f"{line}: over {LONGEST_SUBJECT} characters" for line in subjects if len(line) > LONGEST_SUBJECT]
    for name in names or git("ls-files", "*.md", "*.py", "presets/*.toml"):
        if not EXEMPT.search(name):
            found += faults(Path(name))
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
