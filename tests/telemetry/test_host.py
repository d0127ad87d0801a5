import os
import subprocess
import sys
import threading
import time
from collections import namedtuple
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuilab.telemetry.cgroup import Quota
from tuilab.telemetry.host import MOST_FILES, Host, _shares
from tuilab.telemetry.process import WatchedProcess, _rates

Times = namedtuple("Times", "user nice system idle iowait irq softirq steal guest guest_nice")


def times(**seconds: float) -> Times:
    return Times(**{name: seconds.get(name, 0.0) for name in Times._fields})


def test_shares_of_one_cpu():
    old, new = times(idle=10), times(user=2, system=1, idle=16, iowait=1, steal=2, guest=1)
    busy, steal = _shares(old, new)
    assert busy == pytest.approx(3 / 12) and steal == pytest.approx(2 / 12)


def test_without_a_tick_there_is_no_share():
    assert _shares(times(user=1), times(user=1)) is None


@given(st.lists(st.floats(0, 1e9), min_size=20, max_size=20))
def test_shares_are_between_zero_and_one(numbers: list[float]):
    found = _shares(Times(*numbers[:10]), Times(*numbers[10:]))
    assert found is None or all(0 <= share <= 1.0000001 for share in found)


def cpu_files(root: Path, cores: int, khz: int = 3_000_000) -> None:
    for core in range(cores):
        policy = root / f"sys/devices/system/cpu/cpufreq/policy{core}"
        policy.mkdir(parents=True)
        (policy / "scaling_cur_freq").write_text(f"{khz + core * 1_000}\n")
        (policy / "cpuinfo_max_freq").write_text("4500000\n")
        heat = root / f"sys/devices/system/cpu/cpu{core}/thermal_throttle"
        heat.mkdir(parents=True)
        (heat / "core_throttle_count").write_text("5\n")


def test_clock_and_temperature_are_read(tmp_path: Path):
    cpu_files(tmp_path, 2)
    host = Host(tmp_path)
    first = host.sample()
    assert (first.frequency_hz, first.frequency_max_hz, first.thermal_events) == (3.0005e9, 4.5e9, 0)
    assert first.use is None and first.per_core == () and not host.notes
    (tmp_path / "sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count").write_text("9\n")
    assert host.sample().thermal_events == 4


def test_of_many_cores_a_sample_is_read(tmp_path: Path):
    cpu_files(tmp_path, 200)
    assert 1 < len(Host(tmp_path)._clocks) <= MOST_FILES


def test_without_cpufreq_a_note_says_so(tmp_path: Path):
    host = Host(tmp_path)
    assert host.sample().frequency_hz is None and "cpufreq" in host.notes[0]


def group(root: Path, inner: str, **files: str) -> Path:
    folder = root / "sys/fs/cgroup" / inner
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("_", ".", 1)).write_text(text)
    return folder


def here(root: Path, text: str) -> None:
    (root / "proc/self").mkdir(parents=True, exist_ok=True)
    (root / "proc/self/cgroup").write_text(text)


def test_quota_of_version_2_is_the_tightest_above(tmp_path: Path):
    here(tmp_path, "0::/pod/inner\n")
    group(tmp_path, "", cpu_max="max 100000")
    pod = group(tmp_path, "pod", cpu_max="150000 100000", cpu_stat="nr_periods 10\nnr_throttled 4\n")
    group(tmp_path, "pod/inner", cpu_max="400000 100000", cpu_stat="nr_periods 1\nnr_throttled 1\n")
    host = Host(tmp_path)
    assert host.sample().quota == 1.5
    (pod / "cpu.stat").write_text("usage_usec 1\nnr_periods 30\nnr_throttled 9\nthrottled_usec 5\n")
    assert host.sample().throttled == 0.25
    assert host.sample().throttled == 0.0  # no scheduler period has passed yet


def test_quota_of_version_1(tmp_path: Path):
    here(tmp_path, "4:memory:/x\n3:cpu,cpuacct:/job\n0::/\n")
    folder = group(tmp_path, "cpu,cpuacct/job")
    (folder / "cpu.cfs_quota_us").write_text("50000\n")
    (folder / "cpu.cfs_period_us").write_text("100000\n")
    (folder / "cpu.stat").write_text("nr_periods 3\nnr_throttled 1\nthrottled_time 99\n")
    quota = Quota(tmp_path)
    assert quota.cpus == 0.5 and quota.periods() is not None


@pytest.mark.parametrize("text", ["max 100000", "", "nonsense", "-1 100000"])
def test_without_a_quota_there_is_no_limit(tmp_path: Path, text: str):
    here(tmp_path, "0::/\n")
    group(tmp_path, "", cpu_max=text)
    quota = Quota(tmp_path)
    assert quota.cpus is None and quota.periods() is None


def test_rates_include_threads_that_start_and_end():
    before = {"1": (10, 1), "2": (5, 5)}
    now = {"1": (30, 3), "3": (4, 2)}
    assert _rates(before, now, 2.0) == (12.0, 2.0)
    assert _rates(before, now, None) == (None, None)


def test_a_busy_process_is_reported_as_busy():
    spin = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    idle = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        time.sleep(0.3)
        watched = [WatchedProcess(spin.pid), WatchedProcess(idle.pid)]
        for one in watched:
            one.sample()
        time.sleep(0.5)
        (busy, _), (quiet, _) = (one.sample() for one in watched)
        # The process's share of a CPU depends on the machine's load.
        assert quiet.use < busy.use / 2
        assert busy.involuntary is not None and busy.memory > 1_000_000 and busy.threads == 1
    finally:
        spin.kill()
        idle.kill()
        spin.wait()
        idle.wait()


def test_switches_of_every_thread_count():
    """Waiting threads of this process switch voluntarily. The kernel counts each thread's switches in a
    separate file.
    """
    watched = WatchedProcess(os.getpid())
    stop = threading.Event()
    threads = [threading.Thread(target=lambda: [time.sleep(0.005) for _ in range(40)]) for _ in range(3)]
    watched.sample()
    for thread in threads:
        thread.start()
    time.sleep(0.1)
    found, why = watched.sample()
    stop.set()
    for thread in threads:
        thread.join()
    assert not why and found.threads > 3 and found.voluntary > 0


def test_an_ended_process_is_reported_as_ended():
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    child.wait()
    assert WatchedProcess(child.pid).sample() == (None, f"process {child.pid} has ended")


def test_a_process_that_may_not_be_read_is_reported(monkeypatch: pytest.MonkeyPatch):
    def denied(pid: int) -> None:
        raise psutil.AccessDenied(pid)

    monkeypatch.setattr(psutil, "Process", denied)
    found, why = WatchedProcess(1).sample()
    assert found is None and why.startswith("process 1 cannot be read")
