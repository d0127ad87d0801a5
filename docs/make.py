"""Generates the reference pages: `python docs/make.py` writes them, `--check` lists outdated pages.

presets/titles.json holds the titles of the bundled presets, for the first screen.
presets.md comes from the structs of a preset and the declarations of the workloads. formats.md comes from the
structs of results, recordings and the protocol. The string below a field in the code describes the field in its
table row. The pictures in measuring.md are computed by tuilab's own statistics from synthetic samples.
"""

import inspect
import math
import random
import re
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import msgspec

from tuilab import catalogue, workloads
from tuilab.analysis.crossover import crossings, places
from tuilab.analysis.processes import middle_of_processes, t_interval
from tuilab.analysis.ratios import logs, ratio, unpaired
from tuilab.analysis.statistics import estimate, locate, median
from tuilab.analysis.words import listed
from tuilab.history import schema, store
from tuilab.model import claims, events, preset, program, result
from tuilab.model.parameters import Boolean, Choice, Parameter
from tuilab.paths import shipped_folder
from tuilab.presentation.titles import INDEX, make_index, titles
from tuilab.report.schema import SCHEMAS, in_json, meanings, structs

DOCS = Path(__file__).parent
MOST_VALUES = 8
"""Longer lists of values are left to the schema."""
HISTORY_OF_PRESETS_AND_RESULTS = """\
| schema | tuilab | what changed |
|---|---|---|
| 1 | 0.1 | first version |
"""


def kind(annotation: Any) -> str:
    """Return the name of a field's type in JSON or TOML."""
    return _named(msgspec.inspect.type_info(annotation))


def _named(info: Any, many: bool = False) -> str:
    s = "s" * many
    match info:
        case msgspec.inspect.StrType():
            return f"string{s}"
        case msgspec.inspect.BoolType():
            return f"boolean{s}"
        case msgspec.inspect.IntType():
            return f"integer{s}"
        case msgspec.inspect.FloatType():
            return f"float{s}"
        case msgspec.inspect.NoneType():
            return f"null{s}"
        case msgspec.inspect.BytesType():
            return f"base64 string{s}"
        case msgspec.inspect.RawType():
            return "JSON"
        case msgspec.inspect.LiteralType():
            words = listed([f"`{value}`" for value in info.values], "or")
            return words if len(info.values) <= MOST_VALUES else f"one of {len(info.values)} words"
        case msgspec.inspect.VarTupleType() | msgspec.inspect.ListType():
            return f"list{s} of {_named(info.item_type, many=True)}"
        case msgspec.inspect.TupleType():
            return "[" + ", ".join(_named(each) for each in info.item_types) + "]"
        case msgspec.inspect.DictType():
            return f"table{s} of {_named(info.value_type, many=True)}"
        case msgspec.inspect.StructType():
            title = _title(info.cls)
            return f"[{_plural(title) if many else title}](#{title.lower().replace(' ', '-')})"
        case msgspec.inspect.UnionType():
            return listed(list(dict.fromkeys(_named(each, many) for each in info.types)), "or")
    return f"value{s}"


def _plural(title: str) -> str:
    return title.removesuffix("is") + "es" if title.endswith("is") else title.removesuffix("s") + "s"


def _title(struct: type) -> str:
    words = "".join(" " + c.lower() if c.isupper() else c for c in struct.__name__).split()
    return " ".join(words).replace("gpu", "GPU")


def table(struct: type, defaults: bool = True) -> str:
    """Return a table of the struct's fields: name, type, default, meaning."""
    under = meanings(struct)
    heads = ["field", "type", *["default"] * defaults, "meaning"]
    lines = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    for field in msgspec.structs.fields(struct):
        default = "" if field.required else f"`{_default(field)}`".replace("`its own`", "its own")
        cells = [f"`{field.encode_name}`", kind(field.type), under.get(field.name, "")]
        cells = [cell.replace("|", "\\|") for cell in cells]
        if defaults:
            cells.insert(2, default)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _default(field: Any) -> str:
    value = field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
    return "its own" if isinstance(value, msgspec.Struct) else msgspec.json.encode(value).decode()


def section(struct: type, level: int = 3) -> str:
    """Return a struct as a section: name, description, tag, fields."""
    tag = struct.__struct_config__.tag  # type: ignore[attr-defined]
    about = in_json(inspect.cleandoc(struct.__doc__ or "")) if not _plain(struct) else ""
    lines = [f"{'#' * level} {_title(struct)}", "", about]
    if tag:
        lines += ["", f'`"{struct.__struct_config__.tag_field}": "{tag}"`']  # type: ignore[attr-defined]
    if msgspec.structs.fields(struct):
        lines += ["", table(struct)]
    return "\n".join(lines)


def _plain(struct: type) -> bool:
    """Return True if the struct has no docstring of its own."""
    return struct.__doc__ is None


def presets_page() -> str:
    """Return presets.md: the contents of a preset file, and the parameters of every workload."""
    conditions = set(get_args(claims.Condition))
    parts = [s for s in structs(preset.Preset) if s not in conditions and s is not preset.Preset]
    text = [
        "# Presets",
        "",
        textwrap.dedent("""\
            A preset is a TOML file with a ready-made benchmark. It names a workload, its parameters, the arms (the variants to
            compare), and usually makes claims: statements, each with a condition that the lab can check. tuilab ships the presets
            in `presets/`. Put your own in `~/.config/tuilab/presets/`, one file each; the file name without its suffix is
            the preset's name: `tuilab run NAME`. If a file has an error, `tuilab presets` names the key and the
            expected value; the other files still load.

            `python docs/make.py` generates this page.

            ```toml
            title = "Small STFT on one device"
            workload = "stft"

            [parameters]
            samples = 256

            [arms]
            devices = ["CPU", "GPU"]
            modes = ["graph", "xla"]

            [[claims]]
            text = "For an input this small, the CPU is faster."
            when = { kind = "faster", a = { device = "CPU" }, b = { device = "GPU" } }
            ```
            """),
        "## The file",
        "",
        table(preset.Preset),
        "",
        *(section(part) + "\n" for part in parts),
        "## Conditions of a claim",
        "",
        *(section(part) + "\n" for part in get_args(claims.Condition)),
        "## Workloads and their parameters",
        "",
    ]
    for name in workloads.shipped():
        declared = workloads.find(name).declaration
        text += [f"### `{name}`", "", f"{declared.title}. {declared.summary}".strip(), ""]
        text += ["| parameter | values | default | meaning |", "|---|---|---|---|"]
        text += [_parameter(parameter) for parameter in declared.parameters]
        if declared.variants:
            text += [
                "",
                "Variants: "
                + "; ".join(f"`{v.name}` ({v.help.rstrip('.')})" for v in declared.variants)
                + ".",
            ]
        text.append("")
    return "\n".join(text)


def _parameter(parameter: Parameter) -> str:
    if isinstance(parameter, Choice):
        values = ", ".join(f"`{option}`" for option in parameter.options)
    elif isinstance(parameter, Boolean):
        values = "true, false"
    else:
        values = f"{parameter.low:,} … {parameter.high:,}"
    default = str(parameter.default).lower() if isinstance(parameter.default, bool) else parameter.default
    return f"| `{parameter.name}` | {values} | `{default}` | {parameter.help} |"


def formats_page() -> str:
    """Return formats.md: the objects of `--json`, recordings, the protocol, and the history."""
    text = f"""\
        # Formats

        This page describes the formats that scripts can rely on. Times are in seconds, sizes in bytes. A schema may gain fields, so ignore unknown fields. It never renames, moves or redefines a field.

        `tuilab schema NAME` prints the JSON Schema of a format with the meaning of each field. NAME is one of
        {", ".join(f"`{name}`" for name in SCHEMAS)}. This page shows the two objects that scripts read most.
        `python docs/make.py` generates this page.

        ## `tuilab run --json`

        {{run}}

        {HISTORY_OF_PRESETS_AND_RESULTS.replace(chr(10), chr(10) + " " * 8)}
        An arm:

        {{arm}}

        ## `tuilab watch --json`

        {{page}}

        A finding:

        {{finding}}

        For several programs, `watch` prints a different object (schema `watch-several`).

        ## Other commands

        `sweep`, `resume` and `export --format json` print the same object as `run`. `explain` and `doctor` have schemas of
        their own. For an op instead of a preset, `explain` has the schema `explain-op`.

        ## Recordings

        `tuilab history save RUN FILE` and `tuilab export` write a run as JSON lines: first `hello`, then the run's events in
        order, beginning with `run-started`. A replay of the file shows the same screens as the run. A recording is never
        trusted: tuilab limits its size, checks its types, and removes control characters. The protocol version is {events.PROTOCOL}.

        A worker (the process that measures) writes the same lines to its standard output; the schema `event` describes each of
        them. The lab writes requests (schema `request`) to a worker's standard input.

        ## The history

        The history, with all saved runs, is one SQLite file: `~/.local/share/tuilab/history.db` (or in `TUILAB_DATA`),
        schema {schema.VERSION}. Read it with `tuilab history --json`, because its tables are not a stable interface.

        - **A history from a newer tuilab** is not changed. New runs are saved in the folder `{store.BESIDE}` next to it.
        - **A history from before the first release** is renamed to `history-older-….db`.
        - **A history that seems damaged** is first read again. If the disk cannot be read, the file keeps its name. If the
          content is damaged, tuilab renames the file to `history-damaged-….db`.
        - **On a full or read-only disk**, tuilab still lists, exports and replays runs. It saves new runs in temporary
          files and adds them to the history later. `tuilab history prune` works on a full disk, too: it shrinks
          the file in place. `--for-good` also removes deleted runs immediately.

        If a damaged history was renamed, every command mentions it until `tuilab history check --repair FILE` has added its runs
        to the new history.
        A repaired file is named `history-recovered-….db`.
        """
    page = textwrap.dedent(text).format(
        run=table(result.RunResult, False), arm=table(result.ArmResult, False),
        page=table(program.Page, False), finding=table(program.Bottleneck, False),
    )  # fmt: skip
    return re.sub(r"\[([^]]+)\]\(#[^)]*\)", r"\1", page)  # omit links between the tables


WIDTH, BAR = 60, 40


def _scatter(rows: list[tuple[str, list[float]]], low: float, high: float, height: int = 8) -> str:
    """Return samples over time, one letter per series; later ones win a cell."""
    cells = [[" "] * WIDTH for _ in range(height)]
    for mark, samples in rows:
        for index, value in enumerate(samples):
            if not math.isnan(value):
                row = round((high - value) / (high - low) * (height - 1))
                cells[min(height - 1, max(0, row))][index * WIDTH // len(samples)] = mark
    labels = [f"{high - (high - low) * row / (height - 1):5.2f} ms │" for row in range(height)]
    return "\n".join(label + "".join(row).rstrip() for label, row in zip(labels, cells, strict=True))


def rounds_picture() -> str:
    """Plot two arms on a machine that slows down by 10%, measured one after another and in rounds.

    B is 3% slower than A.
    """
    rng, n = random.Random(1), 60
    pace = [1 + 0.1 * i / (2 * n) for i in range(2 * n)]

    def sample(moment: int, cost: float) -> float:
        return pace[moment] * cost * rng.lognormvariate(0, 0.004)

    nan = math.nan
    after = [sample(i, 1.03) for i in range(n)], [sample(n + i, 1.00) for i in range(n)]
    order = [rng.random() < 0.5 for _ in range(n)]
    slower = [sample(2 * i + swap, 1.03) for i, swap in enumerate(order)]
    faster = [sample(2 * i + (not swap), 1.00) for i, swap in enumerate(order)]
    alone = unpaired(*(locate(logs(each)) for each in after))
    paired = ratio(dict(enumerate(slower)), dict(enumerate(faster)))
    assert alone is not None and paired is not None
    return "\n".join(
        [
            "One after another: first all of B, then all of A",
            _scatter([("B", after[0] + [nan] * n), ("A", [nan] * n + after[1])], 1.0, 1.14),
            f"         B / A = {alone.ratio:.3f} [{alone.low:.3f} {alone.high:.3f}]; the truth is 1.030",
            "",
            "In rounds, each arm once per round, in random order",
            _scatter([("A", faster), ("B", slower)], 1.0, 1.14),
            f"         B / A = {paired.ratio:.3f} [{paired.low:.3f} {paired.high:.3f}]; the truth is 1.030",
        ]
    )


def interval_picture() -> str:
    """Plot the intervals of the median for twenty runs of a process with autocorrelated samples."""
    rng = random.Random(5)
    lines, held = [], 0
    for run in range(20):
        noise, samples = 0.0, []
        for _ in range(60):
            noise = 0.5 * noise + rng.gauss(0, 0.02)
            samples.append(math.exp(noise))
        found = estimate(samples)
        assert found is not None and found.interval is not None
        low, high = (round((end - 0.97) / 0.06 * (BAR - 1)) for end in found.interval)
        middle = round((found.median - 0.97) / 0.06 * (BAR - 1))
        inside = found.interval[0] <= 1 <= found.interval[1]
        held += inside
        cells = ["·" if i == (BAR - 1) // 2 else " " for i in range(BAR)]
        for i in range(max(0, low), min(BAR, high + 1)):
            cells[i] = "─"
        if 0 <= middle < BAR:
            cells[middle] = "●"
        lines.append(f"run {run + 1:2} │{''.join(cells)}│{'' if inside else ' missed'}")
    return "\n".join(
        [*lines, f"        0.97 {'1.00':^{BAR - 9}} 1.03   {held} of 20 contain the true median"]
    )


def crossover_picture() -> str:
    """Return a table of two linear costs that cross at 24,000, measured at five sizes in thirty rounds."""
    rng, sizes = random.Random(3), (1_000, 4_000, 16_000, 64_000, 256_000)
    costs = {"CPU": lambda x: 20e-6 + 5e-9 * x, "GPU": lambda x: 116e-6 + 1e-9 * x}
    timings: dict[str, dict[int, dict[int, float]]] = {name: {} for name in costs}
    for size in sizes:
        drift = [rng.lognormvariate(0, 0.02) for _ in range(30)]
        for name, cost in costs.items():
            timings[name][size] = {
                i: cost(size) * d * rng.lognormvariate(0, 0.01) for i, d in enumerate(drift)
            }
    lines = ["    size     CPU      GPU     CPU / GPU"]
    for place in places(timings["GPU"], timings["CPU"]):
        own = {name: estimate(list(timings[name][place.size].values())) for name in costs}
        found = ratio(timings["CPU"][place.size], timings["GPU"][place.size])
        assert found is not None and all(own.values())
        times = "  ".join(f"{own[name].median * 1e6:5.0f} µs" for name in costs)  # type: ignore[union-attr]
        lines.append(f"{place.size:8,} {times}   {found.ratio:5.2f} [{found.low:.2f} {found.high:.2f}]")
    (crossing,) = crossings(places(timings["GPU"], timings["CPU"]))
    return "\n".join(
        [
            *lines,
            f"GPU overtakes at {crossing.at:,.0f} [{crossing.low:,.0f} {crossing.high:,.0f}]; the truth is 24,000",
        ]
    )


def processes_picture() -> str:
    """Return a table of how often a t interval and our interval contain the median of processes.

    The t interval is that of the mean log. The table also gives the half-widths of the intervals.
    """
    kinds: dict[str, Callable[[random.Random], float]] = {
        "one level": lambda draw: draw.gauss(0, 0.05),
        "long tail": lambda draw: draw.expovariate(5),
        "3 of 10 slow": lambda draw: draw.gauss(0, 0.02) + 0.3 * (draw.random() < 0.3),
    }
    lines = ["processes are    t interval of 7   interval of 7     interval of 10    interval of 20"]
    for name, pace in kinds.items():
        draw = random.Random(5)
        truth, cells = median([pace(draw) for _ in range(20_000)]) or 0.0, []
        for number, interval in ((7, t_interval), *((n, middle_of_processes) for n in (7, 10, 20))):
            ends = [interval([pace(draw) for _ in range(number)])[1] for _ in range(2_000)]
            held = sum(low <= truth <= high for low, high in ends) / len(ends)
            width = sum(high - low for low, high in ends) / 2 / len(ends)
            cells.append(f"{held:5.1%}, ± {width:5.1%}")
        lines.append(f"{name:14}" + "".join(f"{cell:>18}" for cell in cells))
    return "\n".join(lines)


PICTURES = {
    "rounds": rounds_picture,
    "intervals": interval_picture,
    "processes": processes_picture,
    "crossover": crossover_picture,
}


def measuring_page() -> str:
    """Return measuring.md with its pictures redrawn between their marks."""
    text = (DOCS / "measuring.md").read_text()
    for name, picture in PICTURES.items():
        begin, end = f"<!-- made: {name} -->\n", f"<!-- end: {name} -->"
        before, found, rest = text.partition(begin)
        assert found, f"docs/measuring.md has no mark {begin.strip()}"
        text = f"{before}{begin}```text\n{picture()}\n```\n{end}{rest.partition(end)[2]}"
    return text


def titles_index() -> str:
    """Return the index of the bundled presets' titles."""
    found = catalogue.load(shipped_folder())
    return make_index(titles(found.presets, found.problems))


PAGES = {
    DOCS / "presets.md": presets_page,
    DOCS / "formats.md": formats_page,
    DOCS / "measuring.md": measuring_page,
    DOCS.parent / "presets" / INDEX: titles_index,
}


def main(arguments: list[str]) -> int:
    """Write the pages, or with `--check` list outdated ones; return 1 if there are any."""
    stale = []
    for file, page in PAGES.items():
        text = page().rstrip() + "\n"
        if "--check" in arguments:
            if not file.exists() or file.read_text() != text:
                stale.append(file)
        else:
            file.write_text(text)
    for file in stale:
        print(f"{file.parent.name}/{file.name} is outdated: run python docs/make.py", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
