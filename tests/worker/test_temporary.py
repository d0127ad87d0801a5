"""What a killed worker's AutoGraph left is cleared by the next one."""

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from tuilab.processes import since
from tuilab.worker.temporary import LOADER, keep_generated_code_apart


@pytest.mark.skipif(sys.platform != "linux", reason="processes are told on Linux alone")
def test_files_of_processes_that_have_gone_are_cleared(tmp_path, monkeypatch):
    gone = subprocess.Popen(["true"])
    gone.wait()
    going = subprocess.Popen(["sleep", "600"])
    try:
        for name in (f"{gone.pid}-123", f"{going.pid}-{since(going.pid)}", f"{going.pid}-1"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "__autograph_generated_file1.py").touch()
        loader = SimpleNamespace(tempfile=None)
        monkeypatch.setitem(sys.modules, LOADER, loader)
        keep_generated_code_apart(tmp_path)
        own = f"{os.getpid()}-{since(os.getpid())}"
        assert sorted(os.listdir(tmp_path)) == sorted([own, f"{going.pid}-{since(going.pid)}"])
        with loader.tempfile.NamedTemporaryFile(prefix="x", suffix=".py", delete=False) as file:
            assert os.path.dirname(file.name) == str(tmp_path / own)
    finally:
        going.kill()
        going.wait()
