"""Plants faults at the borders between processes and files: `python -m tests.journeys.planted` lists the
faults that no journey notices.

Each fault is planted in a copy of the checkout, from which the wheel is built. With this wheel, the journey
that belongs to the fault must fail.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from tests.journeys.user import CHECKOUT


class Fault(NamedTuple):
    name: str
    file: str
    old: str
    new: str
    story: str


FAULTS = (
    Fault(
        "a worker's guard ends the wrong processes", "tuilab/worker/channel.py",
        "self._mark = f\"{os.environ.get(processes.MARK, '')}/{os.getpid()}-{time.time_ns()}\"",
        'self._mark = os.environ.get(processes.MARK) or f"{os.getpid()}-{time.time_ns()}"',
        "test_the_self_test_ends_with_its_result_in_a_terminal",
    ),
    Fault(
        "a closed stream stays closed", "tuilab/streams.py", "        if getattr(sys, name) is None:",
        "        if False:", "test_every_command_works_with_closed_streams",
    ),
    Fault(
        "an option is renamed", "tuilab/cli/check.py", '"--diff"', '"--differences"',
        "test_an_article_is_checked_and_proved_and_imported",
    ),
    Fault(
        "the wheel lacks the presets", "pyproject.toml", '"presets" = "tuilab/_presets"', '"LICENSE" = "tuilab/L"',
        "test_a_night_job_measures",
    ),
    Fault(
        "the wheel lacks the style of pages", "pyproject.toml", 'packages = ["tuilab"]',
        'packages = ["tuilab"]\nexclude = ["*.css"]', "test_an_exported_run_is_read_in_a_browser",
    ),
    Fault(
        "the wheel lacks the style of the screens", "pyproject.toml", 'packages = ["tuilab"]',
        'packages = ["tuilab"]\nexclude = ["*.tcss"]', "test_the_first_minute",
    ),
    Fault(
        "results go to standard error", "tuilab/cli/lab.py", "indent=2).decode())", "indent=2).decode(), err=True)",
        "test_a_night_job_measures",
    ),
    Fault(
        "the folder that was named is not used", "tuilab/paths.py", 'ENVIRONMENT = "TUILAB_DATA"',
        'ENVIRONMENT = "TUILAB_FOLDER"', "test_a_night_job_measures",
    ),
    Fault(
        "the watched program's exit code is lost", "tuilab/cli/watch.py", "else end_as(ended)", "else end_as(0)",
        "test_a_program_is_watched_from_the_shell",
    ),
    Fault(
        "a dropped line ends the run", "tuilab/cli/main.py", 'default="finish"', 'default="end"',
        "test_a_run_survives_a_dropped_connection_and_is_shown_again",
    ),
    Fault(
        "temporary files are left", "tuilab/processes.py", "if folder and os.path.isdir(folder):", "if False:",
        "test_a_starter_file_runs_as_it_is",
    ),
)  # fmt: skip


def noticed(fault: Fault) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "checkout"
        left_out = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", "build", "dist")
        shutil.copytree(CHECKOUT, copy, ignore=left_out)
        file = copy / fault.file
        text = file.read_text()
        assert fault.old in text, f"{fault.name}: {fault.file} has changed"
        file.write_text(text.replace(fault.old, fault.new))
        words = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-x", "-p", "no:cacheprovider"]
        words += ["--basetemp", f"{folder}/tests", "tests/journeys", "-k", fault.story]
        done = subprocess.run(words, cwd=copy, capture_output=True, text=True)
        print("noticed  " if done.returncode == 1 else "UNNOTICED", fault.name, flush=True)
        return done.returncode == 1


def main() -> None:
    """Plant the faults whose name contains one of the arguments; without arguments, all faults."""
    chosen = [
        fault for fault in FAULTS if not sys.argv[1:] or any(word in fault.name for word in sys.argv[1:])
    ]
    sys.exit(0 if sum(map(noticed, chosen)) >= len(chosen) - 1 else 1)


if __name__ == "__main__":
    main()
