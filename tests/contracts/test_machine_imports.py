"""Who measures on one machine pays for no other: neither ssh nor Dask code is loaded."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ELSEWHERE = (
    "tuilab.runner.ssh",
    "tuilab.runner.concurrent_devices",
    "tuilab.fleet",
    "dask",
    "distributed",
    "tornado",
)


def loaded_after(statement: str) -> set[str]:
    """Every module of a fresh process that ran the statement."""
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True, cwd=ROOT
    )
    return set(done.stdout.split())


def test_the_plain_app_loads_neither_ssh_nor_dask():
    loaded = loaded_after("import tuilab.tui.app, tuilab.runner.multi_host")
    assert "tuilab.runner.supervisor" in loaded
    assert not loaded & set(ELSEWHERE)


def test_a_command_loads_dask_only_where_a_fleet_is_named():
    loaded = loaded_after("import tuilab.cli.run, tuilab.cli.sweep, tuilab.cli.verdicts, tuilab.cli.fleet")
    assert "tuilab.fleet.scheduler" in loaded
    assert not loaded & {"dask", "distributed", "tornado", "tuilab.runner.ssh", "tuilab.fleet.dask_grid"}
