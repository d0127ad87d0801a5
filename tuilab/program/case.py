"""Combines a watched process with its source files and its machine. Pure functions."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from tuilab.program import source
from tuilab.program.fold import Process


@dataclass(frozen=True)
class Beside:
    """The machine that runs the program: its GPUs, other processes on them, and why TensorFlow sees no
    GPU.
    """

    gpus: int = 0
    others: tuple[str, ...] = ()
    no_gpu: str = ""
    no_gpu_change: str = ""
    memory: Mapping[str, int] = field(default_factory=dict)
    """Memory of each GPU in bytes."""


@dataclass
class Case:
    of: Process
    sources: Mapping[str, str]
    place: Beside
    whole_s: float = 0.0
    """Duration of the program so far in seconds. If 0, the time covered by the observer's messages is used
    instead.
    """

    @property
    def lasted_s(self) -> float:
        return self.whole_s or self.of.lasted_s

    def function_at(self, number: int) -> tuple[str, int]:
        """Return file and line of a user's tf.function, or else of the line that called the function."""
        function = self.of.functions.get(number)
        if function is None:
            return "", 0
        if function.own:
            return function.file, source.definition(self.sources, function.file, function.line)
        return function.caller or ("", 0)

    def step_at(self) -> tuple[str, int]:
        key = self.of.step
        if isinstance(key, tuple):
            return key
        if key is not None:
            return self.function_at(key)
        if self.of.kind == "batch":
            return next(((seen.file, seen.line) for seen in reversed(self.of.datasets) if seen.file), ("", 0))
        return self.ops_at()

    def ops_at(self) -> tuple[str, int]:
        """Return the innermost line inside a loop that launches most of the individual ops; ("", 0) if there
        is none.
        """
        found, at, stacks, looped = ("", 0), 0, self.of.stacks, False
        most = stacks.total() / 2
        while True:
            following: Counter[tuple[str, int]] = Counter()
            for stack, count in stacks.items():
                if len(stack) > at:
                    following[stack[at]] += count
            if not following:
                return found
            line, count = following.most_common(1)[0]
            if count < most:
                # No line launches most of the ops, but a loop may contain most of the lines.
                loops: Counter[tuple[str, int]] = Counter()
                for (file, number), each in following.items():
                    if around := source.loop(self.sources, file, number):
                        loops[file, around] += each
                line, count = loops.most_common(1)[0] if loops else (line, 0)
                return line if count >= most else found
            inside = source.loop(self.sources, *line) > 0
            if inside or not looped:
                found, looped = line, inside
            stacks = Counter({s: n for s, n in stacks.items() if len(s) > at and s[at] == line})
            at += 1

    @property
    def gpus(self) -> list[str]:
        facts = self.of.facts
        return (
            [name.replace("/physical_device:", "") for name in facts.visible if ":GPU:" in name]
            if facts
            else []
        )
