"""The option `--on slurm` with the real dask-jobqueue. Fake sbatch and scancel commands run the job on this
machine.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.data_folder import knowing

pytest.importorskip("dask_jobqueue", reason="dask-jobqueue is not installed")

SBATCH = """#!/bin/sh
cp "$1" "{folder}/job.sh"
setsid bash "{folder}/job.sh" >"{folder}/job.log" 2>&1 </dev/null &
echo "Submitted batch job $!"
"""
SCANCEL = """#!/bin/sh
echo "$1" >>"{folder}/cancelled"
kill -TERM "$1"
"""
QUEUE = "jobqueue:\n  slurm:\n    cores: 1\n    memory: 4GB\n    walltime: '00:10:00'\n"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    for name, text in (("sbatch", SBATCH), ("scancel", SCANCEL)):
        program = tmp_path / name
        program.write_text(text.format(folder=tmp_path))
        program.chmod(0o755)
    (tmp_path / "dask").mkdir()
    (tmp_path / "dask" / "jobqueue.yaml").write_text(QUEUE)
    found = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "TUILAB_DATA": knowing(tmp_path / "data")}
    return {**os.environ, **found, "DASK_CONFIG": str(tmp_path / "dask")}


@pytest.mark.long
@pytest.mark.real_worker
def test_a_job_is_a_node_and_is_cancelled_at_the_end(tmp_path, environment):
    words = ["sweep", "stft-small", "--device", "CPU", "--mode", "graph", "--budget", "quick", "--json"]
    words += ["--axis", "samples=256,512", "--no-refine", "--on", "slurm", "--jobs", "1"]
    done = subprocess.run(
        [sys.executable, "-m", "tuilab", *words], env=environment, capture_output=True, text=True, timeout=150
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert all(point["arms"][0]["n"] >= 2 for point in result["points"])
    assert "--resources tuilab=1" in (tmp_path / "job.sh").read_text()
    (job,) = (tmp_path / "cancelled").read_text().split()
    if psutil.pid_exists(int(job)):
        psutil.Process(int(job)).wait(20)
    assert "waiting for a node" in done.stderr
