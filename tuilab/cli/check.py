"""`tuilab check`: finds mistakes in the benchmarks of articles, notebooks and code."""

import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from tuilab.catalogue.validate import validate
from tuilab.cli.exits import BAD_INPUT, DONE, FINDINGS
from tuilab.cli.fact_check import measure_document
from tuilab.cli.options import columns, file_or_output, not_over, one_of
from tuilab.cli.prove import prove_document
from tuilab.cli.said import tell
from tuilab.documents import RULES, read
from tuilab.documents.api.versions import check_version, table_of
from tuilab.documents.checker import fix, output, settings
from tuilab.documents.checker.files import (
    CheckJob,
    FileResult,
    check_files,
    check_one,
    gather,
    read_one,
    result_of,
    usable_processors,
    without_baseline,
    write_baseline,
)
from tuilab.documents.checker.settings import CheckSettings
from tuilab.documents.report import ExampleLine, ImportedPreset
from tuilab.documents.rules import rule as rule_of
from tuilab.lab.command_line import typed
from tuilab.lab.opening import STDIN, names_of_tensorflow, read_stdin
from tuilab.model.errors import InputError
from tuilab.model.files import SHARED, indented, write_text
from tuilab.model.found import at_least
from tuilab.model.scenario import BUDGETS, BudgetName
from tuilab.report.rows import wrapped

WIDTH = 100
# Minimum number of files for which progress is shown.
_PROGRESS = 20
SEVERITY = one_of(["error", "warning", "note"])
CODES = "CODE[,CODE…]"
FILE = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.argument("paths", metavar="[PATH]...", nargs=-1)
@click.option("--select", metavar=CODES, help="Only these rules; TL1 selects all codes with that prefix.")
@click.option("--ignore", metavar=CODES, help="Skip these rules.")
@click.option("--preview/--no-preview", default=None, help="Include preview rules.")
@click.option(
    "--fail-on", type=SEVERITY, help="Exit with 1 for findings of this severity or higher.  [default: error]"
)
@click.option("--level", type=SEVERITY, help="Print findings of this severity or higher.  [default: warning]")
@click.option(
    "--target",
    type=click.Choice(["auto", "1", "2"]),
    help=(
        "Major TensorFlow version of the code. Names are not checked for version 1; auto infers the "
        "version.  [default: auto]"
    ),
)
@click.option(
    "--tensorflow",
    metavar="VERSION",
    help="Check names against this version, such as 2.17.  [default: the version a document installs, "
    "else yours]",
)
@click.option(
    "--format",
    "layout",
    type=one_of(["text", "full", "json", "sarif", "github"]),
    default="text",
    help="full also shows examples, their presets, and unrecognized calls.",
)
@click.option("--json", "as_json", is_flag=True, help="Same as --format json.")
@click.option("-o", "--output", "target_file", type=FILE, callback=file_or_output, help="Write to this file.")
@click.option("--fix", "write", is_flag=True, help="Apply safe fixes: TL107, many of TL001, TL002.")
@click.option("--diff", "differences", is_flag=True, help="Print what --fix would change.")
@click.option("--baseline", type=FILE, help="Ignore the findings listed in this file.")
@click.option("--write-baseline", type=FILE, help="Write the findings to this file, to be ignored later.")
@click.option("--config", type=FILE, help="Use this pyproject.toml instead of the nearest.")
@click.option(
    "-j", "--jobs", type=click.IntRange(1), help="Number of processes.  [default: one per usable processor]"
)
@click.option("--explain", metavar="CODE", help="Explain a rule, with a wrong and a right example.")
@click.option("--rules", is_flag=True, help="Print every rule: code, reason, remedy.")
@click.option(
    "--measure",
    is_flag=True,
    help="Measure the claims of PATH (or of a bundled document: 000) one by one; -o writes a page.",
)
@click.option(
    "--prove",
    is_flag=True,
    help="Measure PATH's ops and shapes on this machine, to show how far off its figures are.",
)
@click.option(
    "--budget",
    type=one_of(BUDGETS),
    default="quick",
    show_default=True,
    help="Time budget of --measure and --prove.",
)
@click.option("--no-worker", is_flag=True, help="Do not start TensorFlow to look up its names.")
@click.pass_context
def check(
    ctx: click.Context,
    /,
    paths: Sequence[str],
    as_json: bool,
    layout: str,
    target_file: Path | None,
    rules: bool,
    explain: str | None,
    measure: bool,
    prove: bool,
    budget: BudgetName,
    **options: Any,
) -> None:
    """Check what the benchmarks in documents really measure, without running them.

    PATH is a Markdown, text or Python file, a Jupyter notebook, a folder, a pattern such as 'docs/**/*.md',
    or - for standard input. Put a project's settings in [tool.tuilab.check] in its pyproject.toml. To ignore
    a finding, write `# noqa: TL103` on its line or `<!-- tuilab: ignore TL103 -->` above its example.

    Exit codes, also with --prove: 0 no finding at or above --fail-on; 1 such a finding; 2 bad input, or a
    file that cannot be read. --diff: 1 if it prints changes. --measure: 0 whatever the verdicts are.
    """
    layout = "json" if as_json else layout
    if rules or explain:
        click.echo("\n".join(rule_lines(layout == "json") if rules else _explain_rule(explain or "")))
        return
    if measure:
        if len(paths) != 1:
            raise InputError("PATH", " ".join(paths), "one document to measure")
        not_over("-o", target_file, paths)
        ctx.exit(measure_document(paths[0], target_file, budget))
    if prove and len(paths) != 1:
        raise InputError("PATH", " ".join(paths), "one document with findings to prove")
    if not paths:
        raise InputError("PATH", "", "documents or folders to read, or - for standard input")
    words = ("select", "ignore", "preview", "fail_on", "level", "target", "tensorflow", "config", "baseline")
    chosen, base = _settings(**{key: options[key] for key in words})
    api = (
        table_of(chosen.tensorflow)
        if chosen.tensorflow
        else names_of_tensorflow(tell, learn=not options["no_worker"])
    )
    job = CheckJob(api, chosen, validate, whole=layout in ("json", "full"))
    if prove:
        path = "<stdin>" if paths[0] == STDIN else Path(paths[0]).as_posix()
        report = read_one(read_stdin() if paths[0] == STDIN else Path(paths[0]), path, job)
        results = [result_of(report, path, job)]
        results = results if base is None else without_baseline(base, results)
        prove_document(report, results[0], budget, layout == "json")
        ctx.exit(exit_code(results, chosen))
    if options["write"] or options["differences"]:
        changed = _fix(paths, job, options["differences"])
        if options["differences"]:
            ctx.exit(FINDINGS if changed else DONE)
    results = _check(paths, job, options["jobs"])
    for option, file in (("-o", target_file), ("--write-baseline", options["write_baseline"])):
        not_over(option, file, [*paths, *(result.path for result in results)])
    if options["write_baseline"]:
        count = write_baseline(options["write_baseline"], results)
        click.echo(f"{options['write_baseline']}: {count} known findings", err=True)
        return
    if base is not None:
        results = without_baseline(base, results)
    _print(results, layout, chosen, api.version if api else "", target_file)
    ctx.exit(exit_code(results, chosen))


def exit_code(results: Sequence[FileResult], chosen: CheckSettings) -> int:
    if any(result.error for result in results):
        return BAD_INPUT
    failed = any(at_least(f.severity, chosen.fail_on) for r in results for f in r.findings)
    return FINDINGS if failed else DONE


def _settings(
    config: Path | None, baseline: Path | None, select: str | None, ignore: str | None, **given: Any
) -> tuple[CheckSettings, Path | None]:
    file = config or settings.find(Path.cwd())
    out = settings.load(file) if file is not None else CheckSettings()
    changes = {key: value for key, value in given.items() if value is not None}
    for key, words in (("select", select), ("ignore", ignore)):
        if words is not None:
            codes = tuple(w.strip().upper() for w in words.split(",") if w.strip())
            settings.check_codes(f"--{key}", codes)
            changes[key] = codes
    out = msgspec.structs.replace(out, **changes)
    check_version("--tensorflow", out.tensorflow)
    if baseline is None and out.baseline and file is not None:
        baseline = file.parent / out.baseline
    return out, baseline


def _check(paths: Sequence[str], job: CheckJob, jobs: int | None) -> list[FileResult]:
    if list(paths) == [STDIN]:
        return [check_one(read_stdin(), "<stdin>", job)]
    files = gather(paths, job.settings.exclude)
    results = check_files(files, job, jobs or usable_processors(), _progress(len(files)))
    if len(results) == 1 and results[0].error:
        raise InputError("PATH", results[0].path, results[0].error.removeprefix("expected "))
    return results


def _progress(total: int) -> Callable[[int, int], None] | None:
    """Return a function that shows the progress on the terminal's last line. Returns None if standard error
    is not a terminal, or if there are only a few files.
    """
    if total < _PROGRESS or not sys.stderr.isatty():
        return None

    def say(done: int, of: int) -> None:
        if done % 10 == 0 or done == of:
            end = "\n" if done == of else ""
            click.echo(f"\r{done} of {of} files checked", err=True, nl=False)
            click.echo(end, err=True, nl=False)

    return say


def _fix(paths: Sequence[str], job: CheckJob, only_show: bool) -> bool:
    """Fix the files, or only print the fixes. Return True if there was anything to fix."""
    if list(paths) == [STDIN]:
        raise InputError("--fix", STDIN, "writable files")
    changed, unread = 0, list[InputError]()
    for path, _ in gather(paths, job.settings.exclude):
        try:
            report = read(
                path,
                job.api,
                preview=job.settings.preview,
                target=job.settings.target,
                tensorflow=job.settings.tensorflow,
            )
            fixed = fix.fix(path, report, job.settings)
            if fixed is None:
                continue
            changed += fixed.count
            if only_show:
                click.echo(fixed.diff(), nl=False)
            else:
                fixed.write()
        except InputError as error:  # fix the other files anyway
            unread.append(error)
        except OSError as error:
            raise InputError("--fix", str(path), f"a writable file ({error.strerror})") from None
    word = "would be fixed" if only_show else "fixed"
    click.echo(f"{output.counted(changed, 'place')} {word}", err=True)
    if unread and only_show:  # without --diff, the check after the fixes reports unreadable files
        raise unread[0]
    return changed > 0


def _print(
    results: Sequence[FileResult], layout: str, chosen: CheckSettings, version: str, file: Path | None
) -> None:
    if layout == "json":
        lines = [output.as_json(results, version, chosen.target, chosen.level)]
    elif layout == "sarif":
        lines = [output.sarif(results, chosen.level)]
    elif layout == "github":
        lines = list(output.github(results, chosen.level))
    elif layout == "full":
        lines = [line for result in results for line in full(result, chosen)]
    else:
        # Keep the path as the first word on a finding's line, because terminals open it on a click.
        lines = list(wrapped(output.text(results, chosen.level), 0 if file is not None else columns()))
    if file is not None:
        try:
            write_text(file, ["\n".join(lines) + "\n"], SHARED)
        except OSError as error:
            raise InputError("-o", str(file), f"a writable file ({error.strerror})") from None
    elif lines:
        click.echo("\n".join(lines))
    if layout in ("text", "full", "github") or file is not None:
        click.echo(output.summary(results, chosen.level), err=True)


def rule_lines(as_json: bool = False) -> Iterator[str]:
    if as_json:
        names = ("code", "title", "severity", "preview", "why", "remedy")
        rows = [{name: getattr(rule, name) for name in names} for rule in RULES]
        yield indented(rows)
        return
    for rule in RULES:
        yield f"{rule.code}  {rule.title} ({rule.severity}{', preview' if rule.preview else ''})"
        yield from _wrap_lines(rule.why, "       ")
        yield from _wrap_lines(rule.remedy, "       → ")


def _explain_rule(code: str) -> Iterator[str]:
    settings.check_codes("--explain", [code.upper()])
    try:
        rule = rule_of(code.upper())
    except KeyError:
        raise InputError("--explain", code, "a full rule code, such as TL103") from None
    yield f"{rule.code}  {rule.title} ({rule.severity}{', preview' if rule.preview else ''})"
    for title, words in (("", rule.what), ("Why it matters: ", rule.why), ("Instead: ", rule.remedy)):
        yield ""
        yield from textwrap.wrap(title + words, WIDTH, break_on_hyphens=False)
    for title, code_ in (("Wrong:", rule.wrong), ("Right:", rule.right)):
        yield from ("", title, "")
        yield from (f"    {line}" for line in code_.split("\n"))


def full(result: FileResult, chosen: CheckSettings) -> Iterator[str]:
    document = result.check.document if result.check else None
    date = f" ({document.date})" if document and document.date else ""
    yield f"{output.shown_path(result)}: {result.title or 'untitled'}{date}"
    if result.error:
        yield f"  ? {result.error}"
    examples = result.check.examples if result.check else ()
    if not examples and not result.error:
        yield "  no Python found"
    for example in examples:
        yield ""
        yield from _example(example, chosen)
    yield ""


def _example(example: ExampleLine, chosen: CheckSettings) -> Iterator[str]:
    heading = f" · {example.heading}" if example.heading else ""
    yield f"Example {example.number} · line {example.line}{heading}"
    findings = [f for f in example.findings if chosen.selects(f.code) and at_least(f.severity, chosen.level)]
    for finding in findings:
        yield from _wrap_lines(finding.message, f"  {finding.line:>5}  {finding.code}  ")
        yield from _wrap_lines(finding.remedy, " " * 15 + "→ ")
    if not findings:
        yield "  no findings"
    for preset in example.presets:
        yield from _wrap_lines(_preset(preset), "  makes  ")
    for part in example.unresolved:
        yield from _wrap_lines(part.reason, f"  {part.line:>5}  ?      ")


def _preset(preset: ImportedPreset) -> str:
    words = " ".join(f"{key}={typed(value)}" for key, value in preset.parameters.items())
    return f"{preset.name}: {preset.workload} {words}"


def _wrap_lines(text: str, first: str) -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=first, subsequent_indent=" " * len(first), break_on_hyphens=False
    )
