"""Formats the page of a watched program as text, verdict first."""

from collections.abc import Iterable, Iterator
from html import escape
from pathlib import PurePath

from tuilab.analysis.ratios import RatioEstimate
from tuilab.analysis.words import percent, times
from tuilab.model.files import indented
from tuilab.model.program import (
    PROGRAM,
    Bottleneck,
    Cost,
    Load,
    OnGpu,
    Page,
    ProcessRow,
    StepTimes,
    Together,
    Tried,
)
from tuilab.model.quantity import interval, plural, seconds, significant, size
from tuilab.program import account
from tuilab.program.gains import CLEARLY, at_most, expected_gain, is_certain, most_saved
from tuilab.program.page import died
from tuilab.program.source import place
from tuilab.report.web_page import web_page

KINDS = {
    "keras": "a Keras step",
    "tf.function": "a tf.function",
    "eager": "a step in Python",
    "batch": "a batch of a loop",
    "": "",
}
MOST_ROWS = 12
LONGEST_OP = 40
"""Maximum characters of an op's name. The name of a GPU kernel without an op may be much longer."""


def page_text(page: Page) -> str:
    return "\n".join(_lines(page))


def headline(page: Page) -> str:
    if not page.processes:
        return "TensorFlow was not detected"
    if not page.steps.kind and page.exit_code:
        return died(page.exit_code)
    if not page.steps.kind:
        return "no steps detected"
    if not page.findings:
        return "no bottleneck found"
    first = page.findings[0]
    return f"{first.code}: {first.message}"


def short_command(page: Page) -> str:
    """Return the command without the folders of the interpreter and the script: `python train.py --epochs
    3`.
    """
    first, second, *rest = [*page.command, "", ""][: max(2, len(page.command))]
    words = [PurePath(first).name, PurePath(second).name if second.endswith(".py") else second, *rest]
    return " ".join(filter(None, words))


def _lines(page: Page) -> Iterator[str]:
    yield f"tuilab watched {' '.join(page.command)}"
    if text := account.headline(page.account, page.lasted_s):
        yield text
    yield headline(page)
    if page.ran_on:
        yield page.ran_on
    steps = page.steps
    if steps.median_s is not None:
        yield f"step ({step_kind(steps)}): {step_time(steps)}"
    if page.parts:
        yield ""
        width = max(len(part.name) for part in page.parts)
        for part in page.parts:
            if part.share >= 0.005:
                bar = "█" * round(30 * min(1.0, part.share))
                spent = seconds(part.seconds)
                yield f"  {part.name:<{width}}  {percent(part.share):>6}  {spent:>8}  {bar}"
    for finding in page.findings:
        yield ""
        yield from _finding(finding)
    if page.ops:
        yield ""
        yield "ops of a step:"
        names = [
            op.op if len(op.op) <= LONGEST_OP else op.op[: LONGEST_OP - 1] + "…"
            for op in page.ops[:MOST_ROWS]
        ]
        wide = max(24, *map(len, names))
        for name, op in zip(names, page.ops, strict=False):
            where = place(op.file, op.line)
            reason = "" if op.reason in page.ran_on else op.reason
            text = "  ".join(word for word in (op.layer, where, reason) if word)
            yield f"  {percent(op.share):>6}  {name:<{wide}} {op.device:<6} {text}"
    retraced = [row for row in page.functions if row.traces > 1]
    if retraced:
        yield ""
        yield "functions traced more than once:"
        for row in retraced[:MOST_ROWS]:
            several = f" of {plural(row.functions, 'function')}" * (row.functions > 1)
            differed = f", {row.differed} differed" if row.differed else ""
            name, where = row.name.rpartition(".")[2], place(row.file, row.line)
            yield f"  {name} {where}: {plural(row.traces, 'trace')}{several}{differed}"
    if page.on_a_gpu is not None and page.steps.kind:
        yield ""
        yield from _on_a_gpu(page.on_a_gpu)
    if len(page.processes) > 1:
        yield ""
        yield "processes:"
        yield from processes(page.processes)
    if page.loads:
        yield ""
        yield "during the steps:"
        for load in page.loads:
            yield f"  {load.device:<8} {', '.join(figures(load))}"
    yield ""
    if page.processes:
        yield watching_cost(page.cost)
    for note in page.notes:
        if note != headline(page):
            yield f"note: {note}"


FEW_SEEN = 2
"""Steps were missed if all steps take more than this many times as long as the steps that were seen."""


def step_time(steps: StepTimes) -> str:
    """Return `95.0 ms [93.2 97.1], 1,234 seen, 118 s in total`."""
    assert steps.median_s is not None
    ends = f" {interval(*steps.ci95_s, steps.median_s)}" if steps.ci95_s else ""
    total = f", {seconds(steps.total_s)} in total" if steps.total_s else ""
    # Only the profiler sees the steps of a loop of ops, which have no name, but the total is that of all.
    loop = steps.kind == "eager" and not steps.name and steps.median_s
    every = (steps.total_s or 0.0) / steps.median_s if loop else 0.0
    of = f" of about {float(f'{every:.1e}'):,.0f}" if every > FEW_SEEN * steps.n else ""
    return f"{seconds(steps.median_s)}{ends}, {steps.n:,}{of} seen{total}"


def step_kind(steps: StepTimes) -> str:
    """Return a description of a step, such as `train_step, a tf.function`."""
    return ", ".join(filter(None, [steps.name, KINDS[steps.kind]]))


def watching_cost(cost: Cost) -> str:
    """Return `profiling took 0.3% of the run time (2 windows) and 1.2 s of processor time (…)`."""
    text = f"profiling took {percent(cost.share)} of the run time ({plural(cost.windows, 'window')})"
    if cost.processors_s is None:
        return text
    of = f" ({percent(cost.processors_share)} of the program's)" if cost.processors_share is not None else ""
    return f"{text} and {seconds(cost.processors_s)} of processor time{of}"


def programs_text(together: Together) -> str:
    """Describe several programs: the slowest one, a row per process, then the page of each program."""
    pages = together.programs
    if len(pages) == 1:
        return page_text(pages[0])
    lines = [together.slowest or "fewer than two processes had steps to compare", ""]
    for page in pages:
        lines += (
            processes(page.processes) if page.processes else [f"  {page.host} {short_command(page)}: no step"]
        )
    return "\n".join([*lines, *(f"\n{page.host}\n{page_text(page)}" for page in pages)])


def programs_json(together: Together) -> str:
    """Return the JSON text that `tuilab watch --json` prints: one page, or an object with several pages."""
    if len(together.programs) == 1:
        return page_json(together.programs[0])
    return indented(together) + "\n"


def figures(load: Load) -> list[str]:
    """Return a device's average use, peak memory and clock frequency as text."""
    out = []
    if load.use is not None:
        processors = f"{significant(load.use, 2)} processors"
        out.append(processors if load.device == PROGRAM else percent(load.use))
    if load.memory is not None:
        out.append(size(load.memory) + (f" of {size(load.memory_total)}" if load.memory_total else ""))
    if load.clock_hz is not None:
        most = f" of {load.clock_max_hz / 1e9:.2f}" if load.clock_max_hz else ""
        out.append(f"{load.clock_hz / 1e9:.2f}{most} GHz")
    return out


def processes(rows: Iterable[ProcessRow]) -> Iterator[str]:
    """Yield a line per process: its host and command, the time of its step, and the largest part of this
    step.
    """
    for row in rows:
        took = row.steps.median_s
        shown = f"{seconds(took)} a step, {row.steps.n:,} seen" if took else "no step"
        part = f", {percent(row.share)} {row.part}" if row.share is not None else ""
        yield f"  {f'{row.host} ' * bool(row.host)}{row.pid} {PurePath(row.command).name}: {shown}{part}"


VAGUELY = 2.0
"""A range is named if the maximum speedup exceeds the expected one by more than this factor."""
LEAST = 1.005
"""A smaller speedup of the program is called none."""


def gained(finding: Bottleneck) -> str:
    """Return `saves about 3.20 s and speeds up the program by at most 1.1×, the step by at most 21.5×`.

    If the maximum speedup is clearly larger than the expected one, the text contains both. If the input may
    turn out to be the bottleneck, every figure is a maximum: `speeds up the program by up to 1.6×, if the
    input keeps up`, or `while the input stays as it is, and saves up to 2.00 s once the input is faster`.
    """
    limit = "up to" if finding.if_input_keeps_up else "at most"
    most, lines = at_most(finding), []
    if finding.gain_at_most is None and finding.tried is None:
        return ""
    later = finding.saves_later_s
    once = f", and saves up to {seconds(later)} once the input is faster" if later else ""
    if finding.if_input_keeps_up and most.program is not None and most.program < LEAST:
        return f"saves nothing while the input sets the pace{once}"
    if finding.saves_s or most_saved(finding):
        sure = is_certain(finding) or (finding.tried is not None and not finding.if_input_keeps_up)
        saved = f"{limit} {seconds(most_saved(finding))}"
        if sure and finding.saves_s:
            saved = f"about {seconds(finding.saves_s)}"
        lines.append(f"saves {saved}")
    gains = []
    if most.program:
        gains.append(f"the program by {_ends(expected_gain(finding), most.program, limit)}")
    if most.step:
        bound = finding.gain_at_most or most.step
        known = is_certain(finding) and finding.tried is None
        gains += [f"the step by {_ends(bound if known else None, most.step, limit)}"]
    has_result = finding.tried is not None and finding.tried.program is not None
    if gains and not has_result:  # the trial's sentence has its own
        lines.append(f"speeds up {', '.join(gains)}")
    part = f", part of {finding.part_of}" if finding.part_of else ""
    keeps_up = ", if the input keeps up" if lines and finding.if_input_keeps_up else ""
    if once:
        keeps_up = f", while the input stays as it is{once}"
    return f"{' and '.join(lines)}{part}{keeps_up}"


def _ends(expected: float | None, most: float, limit: str) -> str:
    """Return `about 2.4× and at most 2.7×`, or for distant ends `about 11× to 69×`; only the maximum if the
    expected speedup is unknown or hardly smaller.
    """
    if expected is None or expected <= 1 or most <= CLEARLY * expected:
        return f"{limit} {times(most)}"
    if most > VAGUELY * expected:  # a small error of the share that remains changes a large speedup greatly
        return f"about {times(expected)} to {times(most)}"
    return f"about {times(expected)} and {limit} {times(most)}"


def measured(tried: Tried) -> str:
    """Return `measured: 1.7× (busy host) for the step after 2.1 s of compiling, so about 1.4× for the
    program: …`.
    """
    if tried.step is None:
        return tried.said
    low, high = tried.step_ci95 or (None, None)
    step = RatioEstimate(tried.step, low, high, 0)
    once = f" after {seconds(tried.compile_s)} of compiling" if tried.compile_s else ""
    program = f"{times(tried.program)} for the program" if tried.program else ""
    if tried.if_input_keeps_up:
        program = f"at most {program}, and no speedup if the input sets the pace"
    elif program:
        program = f"so about {program}"
    program = f", {program}" if program else ""
    doubts = f" ({', '.join(tried.doubts)})" if tried.doubts else ""
    gain = f"{step.words} {step.span}".rstrip()
    return f"measured: {gain}{doubts} for the step{once}{program}: {tried.said}"


def _finding(finding: Bottleneck) -> Iterator[str]:
    where = place(finding.file, finding.line)
    yield f"{finding.code}{f'  {where}' if where else ''}"
    yield f"  {finding.message}"
    if gains := gained(finding):
        yield f"  fixing it {gains}"
    if finding.remedy:
        yield f"  change: {finding.remedy}"
    if finding.tried:
        yield f"  {measured(finding.tried)}"
    if finding.preset:
        sizes = "".join(f" --set {name}={size}" for name, size in finding.sizes.items())
        yield f"  shown by: tuilab run {finding.preset}{sizes}"


def _on_a_gpu(bound: OnGpu) -> Iterator[str]:
    yield sentence(bound)
    for op in bound.stays_on_cpu[:MOST_ROWS]:
        where = place(op.file, op.line)
        yield f"  stays on the CPU: {op.op}{f' ({where})' if where else ''}: {op.reason}"


def sentence(bound: OnGpu) -> str:
    """Return `on an H100 this program could be at most 1.30× as fast, limited by …`."""
    if bound.at_most is None:
        return f"on {bound.name}: the best case is unknown: {bound.reason}"
    most = (
        f"could be at most {times(bound.at_most)} as fast" if bound.at_most >= LEAST else "would be no faster"
    )
    return f"on {bound.name} this program {most}, limited by {bound.limited_by}"


def page_html(page: Page) -> str:
    title = " ".join(page.command)
    text = f'<h1>{escape(title)}</h1><p class="answer">{escape(headline(page))}</p>'
    return web_page(title, f"{text}<pre>{escape(page_text(page))}</pre>")


def page_markdown(page: Page) -> str:
    return f"# {' '.join(page.command)}\n\n{headline(page)}\n\n```text\n{page_text(page)}\n```\n"


def page_json(page: Page) -> str:
    return indented(page) + "\n"


FORMATS = {"markdown": page_markdown, "html": page_html, "json": page_json}


def compared(a: Page, b: Page) -> list[str]:
    """Compare the steps of two watched programs: `95.0 ms → 21.0 ms a step; waiting for input 83% → 8%`.

    Lines with `!` contain other differences between the programs, which may explain the change.
    """
    out = []
    if a.command != b.command:
        out.append(f"! different commands: {' '.join(a.command)} and {' '.join(b.command)}")
    if a.host != b.host:
        out.append(f"! different hosts: {a.host} and {b.host}")
    if a.steps.median_s and b.steps.median_s:
        one, other = (seconds(m) for m in (a.steps.median_s, b.steps.median_s))
        intervals = a.steps.ci95_s, b.steps.ci95_s
        same = all(intervals) and _overlap(*intervals)
        out.append(f"{one} → {other} a step" + (", no difference beyond the noise" if same else ""))
    shares = [{part.name: part.share for part in page.parts} for page in (a, b)]
    names = sorted(shares[0] | shares[1], key=lambda name: -shares[0].get(name, 0.0))
    out += [
        f"{name} {percent(shares[0].get(name, 0.0))} → {percent(shares[1].get(name, 0.0))}" for name in names
    ] * all(shares)
    codes = [{finding.code for finding in page.findings} for page in (a, b)]
    for words, some in (("fixed", codes[0] - codes[1]), ("new", codes[1] - codes[0])):
        if some:
            out.append(f"{words}: {', '.join(sorted(some))}")
    return out


def _overlap(a: tuple[float, float] | None, b: tuple[float, float] | None) -> bool:
    return a is not None and b is not None and a[0] <= b[1] and b[0] <= a[1]
