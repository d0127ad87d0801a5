"""Opens a folder of hostile model files in each possible way, and checks that no other folder changes."""

import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.attack import hostile_models
from tests.calling import TUILAB
from tests.data_folder import knowing

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "cases" / "models"
SECRET = "planted-secret-4c1f"
LIMIT_S = 15
PATIENCE_S = 240.0
"""Seconds after which a command counts as hanging: the time limit for opening a model, plus the startup time
on a busy machine.
"""
BASE = 1_500_000_000
"""Memory use in bytes of a command and its two TensorFlow processes before they open a model."""

LAB = """
import asyncio, json, sys
from tuilab.lab import Lab
from tuilab.lab.naming import resolve

async def main(lab):
    for file in sys.argv[1:]:
        try:
            code, said = 0, (await lab.find(file, resolve(file)))[0].name
        except Exception as error:
            code, said = 2, str(error)
        print(json.dumps([code, said]), flush=True)

Lab.run(main)
"""


@dataclass(frozen=True)
class Outcome:
    code: int
    said: str
    seconds: float
    megabytes: int


class Field:
    """The folders of a test.

    `models` contains the files to open. `outside`, `home` and `work` must not change. `tmp` must be empty at
    the end.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        for name in ("models", "outside", "home/.keras", "work", "tmp"):
            (root / name).mkdir(parents=True, exist_ok=True)
        (root / "home" / ".keras" / "keras.json").write_text("{}")
        self.secret = root / "home" / "secret"
        self.secret.write_text(f"{SECRET}\n" * 20)
        self.models, self.outside = root / "models", root / "outside"
        self.connections = 0
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                self._server.accept()[0].close()
                self.connections += 1

    def close(self) -> None:
        self._server.close()

    def make_own(self) -> None:
        script = "import sys; from tests.attack.hostile_models import make, Path; "
        script += "make(*map(Path, sys.argv[1:4]), int(sys.argv[4]))"
        self._made_by(script, self.models, self.outside, self.secret, self.port)

    def make_shared(self) -> None:
        """Write the hostile files of the scripts in ../shared/cases/models, with this test's secret and
        server as their targets.
        """
        for path in sorted(SHARED.glob("make_*.py")):
            script = path.read_text()
            for theirs, ours in (
                ("/etc/passwd", str(self.secret)),
                ("/etc/hostname", str(self.secret)),
                ("/root/*", f"{self.root}/home/*"),
                ("127.0.0.1:5999", f"127.0.0.1:{self.port}"),
                ("tmp/hostile-written", str(self.outside).removeprefix("/")),
            ):
                script = script.replace(theirs, ours)
            self._made_by(script, self.models, self.outside)

    def _made_by(self, script: str, *words: object) -> None:
        python = [sys.executable, "-c", script, *map(str, words)]
        done = subprocess.run(python, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr[-2_000:]

    @property
    def names(self) -> list[str]:
        return sorted(os.listdir(self.models))

    def contents(self) -> dict[str, object]:
        found: dict[str, object] = {}
        for name in ("models", "outside", "home", "work"):
            for path in (self.root / name).rglob("*"):
                if path.is_file() or path.is_symlink():
                    stat = path.lstat()
                    found[str(path.relative_to(self.root))] = (stat.st_size, stat.st_mtime_ns)
        # A killed process leaves its scratch folder, which the next process removes.
        left = [each for each in os.listdir(self.root / "tmp") if not each.startswith("tuilab-")]
        return {**found, "tmp": left}

    def command(self, *words: str) -> Outcome:
        environment = {
            **os.environ, "TUILAB_DATA": knowing(self.root / "data"), "HOME": str(self.root / "home"),
            "TMPDIR": str(self.root / "tmp"), "TUILAB_OPENING_S": str(LIMIT_S), "TF_CPP_MIN_LOG_LEVEL": "3",
        }  # fmt: skip
        begun, most = time.monotonic(), 0
        with (self.root / "printed").open("w+") as printed:
            process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=printed, stderr=printed, env=environment,
                cwd=self.root / "work",
            )  # fmt: skip
            patience = begun + PATIENCE_S * max(1, len(words) - 5)  # a lab opens several models
            while process.poll() is None:
                most = max(most, _taken(process.pid))
                if time.monotonic() > patience:
                    for each in psutil.Process(process.pid).children(recursive=True):
                        each.kill()
                    process.kill()
                    process.wait()
                    break
                time.sleep(0.25)
            printed.seek(0)
            said = printed.read()
        return Outcome(process.returncode, said, time.monotonic() - begun, most // 1_000_000)

    def open(self, name: str, *words: str) -> Outcome:
        return self.command(*TUILAB, words[0], str(self.models / name), *words[1:])

    def open_in_lab(self, names: list[str]) -> dict[str, Outcome]:
        """Open the models one after another in one lab; return each model's outcome. The times are the mean
        over the models, and the memory is the lab's peak.
        """
        files = [str(self.models / name) for name in names]
        all_ = self.command(sys.executable, "-c", LAB, *files)
        lines = [json.loads(line) for line in all_.said.splitlines() if line.startswith("[")]
        assert len(lines) == len(names), all_.said[-2_000:]
        each = all_.seconds / len(names)
        return {
            name: Outcome(code, words, each, all_.megabytes)
            for name, (code, words) in zip(names, lines, strict=True)
        }


def _taken(pid: int) -> int:
    total = 0
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(pid)
        forked = [child for server in _servers() for child in server.children(recursive=True)]
        for each in (process, *process.children(recursive=True), *forked):
            with contextlib.suppress(psutil.Error):
                total += each.memory_info().rss
    return total


def _servers() -> list[psutil.Process]:
    folder = os.environ.get("TUILAB_TESTS_FORKED", "")
    found = psutil.process_iter(["cmdline"]) if folder else ()
    return [each for each in found if any(word.startswith(folder) for word in each.info["cmdline"] or ())]


STOPPED = "GB of memory|not finished after|Unable to allocate"
"""Pattern of the messages for files that fill the memory. On a busy host, the time limit may be reached
first; with little free memory, the allocation fails at once.
"""
WITHOUT_TRAINING = {"evaluates.keras"}
"""Models that open without harm. Their attack is in the `compile` settings, which tuilab does not restore."""
NAMED = {
    **{
        name: re.escape(named) for name, named in hostile_models.KINDS.items() if name not in WITHOUT_TRAINING
    },
    "constant_bomb": STOPPED,
    "image_bomb": STOPPED,
    "abort": "Abort",
    "bomb.keras": "assets/x unpacks",
    "cache": "CacheDatasetV2",
    "compile_os.keras": "system of os",
    "csv": "CSVDatasetV2",
    "dataservice": "DataServiceDataset",
    "decodeproto": "DecodeProtoV2",
    "deep.keras": "config.json cannot be read",
    "deep2.keras": "A, which is not among the Keras parts|config.json cannot be read",
    "etorecord": "ExperimentalDatasetToTFRecord",
    "exit0": "Abort",
    "ext.h5": "outside the file",
    "fill20g": STOPPED,
    "fn_foreign.keras": r"abs of os\.path",
    "forever": "not finished after",
    "fromgraph": "WriteFile.*DatasetFromGraph",
    "getfile.keras": "Lambda|get_file",
    "getfile_alias.keras": "Lambda|get_file",
    "immutable": "ImmutableConst",
    "lambda.KERAS": "Lambda|__lambda__",
    "lambda.h5": "Lambda|__lambda__",
    "lambda.keras": "Lambda|__lambda__",
    "lambda_alias.keras": "Lambda|__lambda__",
    "lambda_str.keras": "Lambda",
    "list.h5": "does not describe a model",
    "many.keras": "members",
    "matchingds": "MatchingFilesDataset",
    "os_system.keras": "system of os",
    "readfile": "ReadFile",
    "sql": "SqlDataset",
    "src_fn.keras": "model_from_json",
    "summary": "CreateSummaryFileWriter",
    "tfsm_alias.keras": "TFSMLayer",
    "torecord": "DatasetToTFRecord",
    "train_lambda.h5": "__lambda__",
    "train_opt.h5": "Lambda",
    "train_os.h5": "system of os",
    "traverse.keras": "traversed in it",
    "traverse_assets.keras": "assets/../../x in it",
    "units1e9.keras": "Dense asks for",
    "v1_read_saver": "ReadFile",
    "v1_write_restore": "WriteFile",
    "v1_write_saver": "WriteFile",
    "vocab_bytes.keras": "StringLookup reads the file",
    "vocab_numpy.keras": "StringLookup reads the file",
    "vocab_str.keras": "StringLookup reads the file",
    "writefile": "WriteFile",
    "zipinside.h5": "not a readable HDF5 file",
}
"""For each file that tuilab rejects, a pattern in the message. Other files open, or fail with a message
of Keras, TensorFlow or a limit.
"""
