"""Builds a watched program's page: all that tuilab reports about the program, as data. Pure functions."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec.structs import replace

from tuilab.analysis.words import listed, percent, times
from tuilab.model.machine import Device
from tuilab.model.program import Cost, FunctionRow, Load, OpRow, Page, ProcessRow, StepPart, StepTimes
from tuilab.model.quantity import seconds
from tuilab.model.verdicts import EMULATED
from tuilab.program.account import account
from tuilab.program.case import Beside, Case
from tuilab.program.findings import findings
from tuilab.program.findings.common import pipeline
from tuilab.program.findings.python import asleep_share
from tuilab.program.findings.tracing import differences
from tuilab.program.fold import Process
from tuilab.program.gpu_bound import on_a_gpu
from tuilab.program.graph import Op, ops_of, reason_of
from tuilab.program.sites import unexplained

MOST_OPS, MOST_FUNCTIONS = 50, 200
FASTER = 1.5
"""The page notes that the steps became faster if the first steps took at least this many times as long as the
last steps.
"""
STARVED = 0.1
"""The page has a note if the stepping thread had no processor for at least this share of the time."""


def page_of(
    processes: Sequence[Process],
    *,
    command: tuple[str, ...],
    exit_code: int | None,
    host: str,
    at: str,
    lasted_s: float,
    sources: Mapping[str, str],
    place: Beside,
    faults: Sequence[str] = (),
    loads: tuple[Load, ...] = (),
    pid: int = 0,
    processors_s: Callable[[], float] = lambda: 0.0,
    card: str = "",
    began: float = 0.0,
) -> Page:
    """Return a program's page from its processes that imported TensorFlow.

    pid: the process to show; 0 for the busiest. card: data-sheet name of the GPU for the bound, such as
    `h100`. began: the program's start in seconds since the epoch. processors_s: returns the lab's processor
    seconds. It is called last, to include the cost of building the page.
    """
    rows = tuple(_row(process, host) for process in processes)
    notes = [*faults]
    if not processes:
        why = "no process finished importing TensorFlow"
        why += ", or Python ran with -I, -E or -S, which disable the observer"
        notes.insert(0, f"{died(exit_code)}; {why}" if exit_code else why)
        return Page(
            command=command, exit_code=exit_code, host=host, at=at, lasted_s=lasted_s, notes=tuple(notes)
        )
    named = [process for process in processes if process.hello and process.hello.pid == pid]
    of = busiest(named or processes)
    assert of is not None
    case = Case(of, sources, place, lasted_s)
    parts, rows_of_ops = of.parts(), ops_of(of)
    found = findings(case)
    notes += unexplained(case, found)
    if said := slowest(rows):
        notes.append(said)
    return Page(
        command=command,
        exit_code=exit_code,
        python=of.hello.python if of.hello else "",
        tensorflow=of.hello.tensorflow if of.hello else "",
        host=host,
        at=at,
        lasted_s=lasted_s,
        steps=replace(of.times(), asleep=asleep_share(case)),
        parts=parts,
        functions=functions(case),
        ops=ops(of, rows_of_ops),
        ran_on="; ".join(filter(None, (ran_on(of, rows_of_ops), _emulated(of)))),
        stages=fed.stages if (fed := pipeline(of)) else (),
        findings=found,
        account=account(of, lasted_s, began),
        on_a_gpu=on_a_gpu(case, card) if not place.gpus else None,
        loads=loads,
        processes=rows,
        notes=(*notes, *remarks(of, parts, place, exit_code)),
        cost=cost(of, processors_s()),
    )


def busiest(processes: Iterable[Process]) -> Process | None:
    return max(processes, key=lambda process: (process.steps.n, process.last), default=None)


def _row(process: Process, host: str) -> ProcessRow:
    hello, largest = process.hello, next(iter(process.parts()), None)
    if hello is None:
        return ProcessRow(pid=0, parent=0, command="", steps=StepTimes(), host=host)
    return ProcessRow(
        pid=hello.pid,
        parent=hello.parent,
        command=hello.script,
        steps=process.times(),
        host=host,
        part=largest.name if largest else "",
        share=largest.share if largest else None,
    )


def slowest(rows: Iterable[ProcessRow]) -> str:
    """Return a sentence about the process with the slowest steps; "" if fewer than two processes have steps.

    In synchronous training, every process waits for the slowest, so the step times alone do not identify it.
    """
    timed = sorted(((row.steps.median_s, n, row) for n, row in enumerate(rows) if row.steps.median_s))
    if len(timed) < 2:
        return ""
    (least, _, quick), (most, _, slow) = timed[0], timed[-1]
    assert least is not None and most is not None
    ends = quick.steps.ci95_s, slow.steps.ci95_s
    if ends[0] is None or ends[1] is None or ends[1][0] <= ends[0][1]:
        return "no process is significantly slower than another"
    why = f", {percent(slow.share)} of it {slow.part}" if slow.share is not None else ""
    text = f"{called(slow)} is the slowest: {seconds(most)} a step{why}"
    return f"{text}; {times(most / least)} as long as {called(quick)}"


def called(row: ProcessRow) -> str:
    return f"process {row.pid}" + (f" on {row.host}" if row.host else "")


def functions(case: Case) -> tuple[FunctionRow, ...]:
    """Return one row per tf.function in the code, most traced first."""
    groups: dict[tuple[str, int, str], list[int]] = {}
    for number, function in case.of.functions.items():
        groups.setdefault((*case.function_at(number), function.name), []).append(number)
    rows = []
    for (file, line, name), numbers in groups.items():
        each = [case.of.traces.get(number, []) for number in numbers]
        rows.append(
            FunctionRow(
                name=name,
                file=file,
                line=line,
                traces=sum(map(len, each)),
                xla=any(case.of.functions[number].xla for number in numbers),
                calls=sum(case.of.calls[number].n for number in numbers if number in case.of.calls),
                tracing_s=sum(took for traces in each for took, _ in traces),
                functions=max(len(numbers), *(case.of.made.get(number, 0) for number in numbers)),
                differed=listed(differences(*([what for _, what in traces] for traces in each))),
                number=numbers[-1],
            )
        )
    return tuple(sorted(rows, key=lambda row: (-row.traces, -row.calls))[:MOST_FUNCTIONS])


def ops(of: Process, rows: Sequence[Op]) -> tuple[OpRow, ...]:
    profiled = of.profiled_step_s
    return tuple(
        OpRow(
            op=op.op,
            device=op.device,
            share=op.seconds / profiled,
            reason=reason_of(op, of),
            file=op.file,
            line=op.line,
            layer=op.layer,
        )
        for op in (rows[:MOST_OPS] if profiled else ())
    )


def _emulated(of: Process) -> str:
    """Return a clause that names the GPUs that software emulates, for tests; "" if there are none."""
    rows = of.facts.physical if of.facts is not None else ()
    gpus = [name for name, _, product, _ in rows if Device(name, product).emulated]
    named = listed([name.replace("/physical_device:", "") for name in gpus])
    return f"{named} {'is' if len(gpus) == 1 else 'are'} {EMULATED}, test software" if gpus else ""


def ran_on(of: Process, rows: Sequence[Op]) -> str:
    """Return a sentence with the devices of the step's ops, busiest first, and why some ops did not run on a
    GPU.
    """
    spent: dict[str, float] = defaultdict(float)
    for row in rows:
        spent[row.device] += row.seconds
    if not (total := sum(spent.values())):
        return ""
    (share, most), *others = (
        (percent(spent[device] / total), device.replace("CPU", "the CPU"))
        for device in sorted(spent, key=lambda device: -spent[device])
    )
    text = "".join(f", {share} on {device}" for share, device in others)
    ran = f"{share} of the ops' time is on {most}{text}" if others else f"every op ran on {most}"
    reasons = {reason_of(row, of) for row in rows if row.device.startswith("CPU")}
    # If the reasons differ, the rows of the ops name them.
    return f"{ran}: {why}" if len(reasons) == 1 and (why := reasons.pop()) else ran


def cost(of: Process, processors_s: float) -> Cost:
    """Return the cost of watching since TensorFlow started. processors_s: the lab's processor seconds."""
    lasted = of.last - (of.hello.now if of.hello else of.last)
    spent = sum(window.cost for window in of.opened)
    share = spent / lasted if lasted > 0 else 0.0
    if not of.cpu:
        return Cost(share=share, windows=len(of.opened))
    used, own = of.watching + processors_s, of.cpu - of.watching
    return Cost(
        share=share,
        windows=len(of.opened),
        processors_s=used,
        processors_share=used / own if own > 0 else None,
    )


def died(exit_code: int) -> str:
    return f"{_how(exit_code)} before its first step"


def _how(exit_code: int) -> str:
    how = f"was killed by signal {-exit_code}" if exit_code < 0 else f"ended with exit code {exit_code}"
    return f"the program {how}"


def remarks(of: Process, parts: Sequence[StepPart], place: Beside, exit_code: int | None) -> tuple[str, ...]:
    """Return notes about parts of the program that could not be observed, with the reasons."""
    out = []
    if not of.kind and exit_code:
        out.append(died(exit_code))
    elif not of.kind and of.facts is not None and of.facts.sessions:
        out.append("no steps detected: tuilab does not watch TensorFlow 1 sessions")
    elif not of.kind:
        out.append(
            "no steps detected: no tf.function, gradient tape or dataset ran three times, and no loop "
            "of ops ran for a second"
        )
    elif not parts:
        if of.uses_profiler:
            out.append(
                "the program uses TensorFlow's profiler itself, so tuilab opened no profiler "
                "window: parts and ops are unknown"
            )
        else:
            out.append(
                "the program ended before a profiler window recorded a complete step; "
                "use --once to open a window immediately"
            )
    elif of.steps is of.loops:
        out.append("the steps are the iterations of a loop of ops, timed only during profiler windows")
    elif len(of.typical) < 10:
        out.append(f"the parts come from only {len(of.typical)} profiled steps")
    if of.kind and exit_code:
        out.append(f"{_how(exit_code)}, so its work may be incomplete")
    pace = of.pace()
    if pace is not None and pace.early_s > FASTER * pace.late_s:
        early, late = (seconds(each) for each in (pace.early_s, pace.late_s))
        out.append(f"steps speed up: {early} in the first fifth, {late} in the last")
    if of.uses_profiler and parts:
        out.append(
            "the program used TensorFlow's profiler itself; tuilab opened no profiler window during that time"
        )
    if of.starved >= STARVED:
        out.append(
            f"the program spent {percent(of.starved)} of the time waiting for processors that other "
            "programs used: the shares may differ on a quiet machine"
        )
    facts = of.facts
    if (
        facts is not None
        and facts.opened
        and not any(row[1] == "GPU" for row in facts.physical)
        and not place.gpus
    ):
        out.append("no GPU was found in this machine, so GPU work was not observed")
    out += [f"the observer: {fault}" for fault in of.faults[:5]]
    return tuple(out)
