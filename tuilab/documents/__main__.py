"""For developers: `python -m tuilab.documents FILE` prints each line of code with its part of the trace."""

import sys
from collections.abc import Iterator
from pathlib import Path

from tuilab.documents.api.tables import shipped
from tuilab.documents.examine import traced
from tuilab.documents.interpreter.trace import Region, Trace, TraceEvent
from tuilab.documents.interpreter.values import (
    Elapsed,
    Known,
    Listing,
    Number,
    Tensor,
    Unknown,
    Value,
)
from tuilab.documents.reading.document import Document
from tuilab.documents.reading.source import open_document
from tuilab.model.errors import InputError
from tuilab.model.sanitize import sanitize_line


def describe_value(value: Value | None) -> str:
    """Describe a value in a few words, such as `float32[64, ?]`, `region 2`, or `?` and the reason why it is
    unknown.
    """
    match value:
        case None:
            return ""
        case Known():
            return repr(value.value)[:60]
        case Tensor():
            sides = ["?" if side is None else str(side) for side in value.shape or ()]
            where = "" if value.library == "tf" else "np "
            return f"{where}{value.dtype or '?'}[{', '.join(sides) if value.shape is not None else '…'}]"
        case Elapsed():
            return f"region {value.region}"
        case Number():
            return "a number"
        case Unknown():
            return f"? {value.reason}"
        case Listing():
            more = ", …" if value.open or len(value.items) > 4 else ""
            return f"{value.kind}({', '.join(map(describe_value, value.items[:4]))}{more})"
        case _:
            return type(value).__name__


def describe_event(event: TraceEvent) -> str:
    """Describe an event in one line: kind, name, arguments, result, and number of repetitions."""
    given = ", ".join(f"{name}={describe_value(value)}" for name, value in event.arguments.items())
    result = f" → {describe_value(event.result)}" if event.result is not None else ""
    place = event.place
    marks = [f"on {'/'.join(place.families)}"] if place.families else []
    if place.loops:
        marks.append(f"{'?' if place.repeats is None else place.repeats} times")
    marks += [f"in {place.traced.by}"] if place.traced else []
    marks += ["if it is called"] if place.uncalled else []
    return f"{event.index:>5} {event.kind} {event.name}({given}){result}" + "".join(f" · {m}" for m in marks)


def timing(number: int, region: Region) -> str:
    lines = ", ".join(str(line) for line, _ in region.told)
    name = f" {region.name}" if region.name else ""
    return f"region {number}{name}: events {region.first + 1} to {region.last - 1}, {region.clock}" + (
        f", printed at line {lines}" if lines else ""
    )


def trace_lines(document: Document, trace: Trace) -> Iterator[str]:
    """Yield each line of code, then a line for each event that the interpreter recorded for this line."""
    happens: dict[int, list[str]] = {}
    for event in trace.events:
        happens.setdefault(event.line, []).append(describe_event(event))
    for number, region in enumerate(trace.regions):
        happens.setdefault(region.last_line, []).append(timing(number, region))
    for line, reason in trace.notes:
        happens.setdefault(line, []).append(f"not followed: {reason}")
    for block in document.blocks:
        for number, text in enumerate(block.code.split("\n"), block.line):
            yield f"{number:>5} │ {text}".rstrip()
            for part in happens.get(number, ()):
                yield f"      │     {sanitize_line(part, 400)}"


def main(words: list[str]) -> int:
    """Print the trace of one file. Returns the exit code: 2 if the file cannot be read."""
    if len(words) != 1:
        print("usage: python -m tuilab.documents FILE", file=sys.stderr)
        return 2
    path = Path(words[0])
    try:
        document = open_document(path)
    except InputError as error:
        print(f"{sanitize_line(str(path), 300)}: expected {error.expected}", file=sys.stderr)
        return 2
    for line in trace_lines(document, traced(document, shipped(), path.absolute().parent)[0]):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
