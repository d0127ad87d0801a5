"""After a worker was killed, the next worker removes the files that AutoGraph left behind."""

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from tuilab.processes import since
from tuilab.worker import temporary
from tuilab.worker.temporary import LOADER, keep_generated_code_apart


@pytest.mark.skipif(sys.platform != "linux", reason="processes are identified on Linux only")
def test_temporary_files_of_ended_processes_are_removed(tmp_path, monkeypatch):
    gone = subprocess.Popen(["true"])
    gone.wait()
    going = subprocess.Popen(["sleep", "600"])
    user = os.getuid()
    left = [f"tuilab-worker-{user}-{gone.pid}-123", f"tuilab-worker-{user}-{going.pid}-1"]
    kept, own = (f"tuilab-worker-{user}-{pid}-{since(pid)}" for pid in (going.pid, os.getpid()))
    try:
        for name in (*left, kept):
            (tmp_path / name).mkdir()
            (tmp_path / name / "__autograph_generated_file1.py").touch()
        loader = SimpleNamespace(tempfile=None)
        monkeypatch.setitem(sys.modules, LOADER, loader)
        monkeypatch.setattr(temporary.tempfile, "tempdir", str(tmp_path))
        keep_generated_code_apart()
        assert sorted(os.listdir(tmp_path)) == sorted([own, kept])
        with loader.tempfile.NamedTemporaryFile(prefix="x", suffix=".py", delete=False) as file:
            assert os.path.dirname(file.name) == str(tmp_path / own)
    finally:
        going.kill()
        going.wait()
