"""Reads the GPUs' facts and state from NVML in a child process, or else from nvidia-smi."""

import csv
import io
import shutil
from dataclasses import dataclass

import msgspec

from tuilab.doctor import children
from tuilab.doctor.place import Place
from tuilab.model.doctor import GpuDevice, Probe
from tuilab.model.quantity import size
from tuilab.model.sanitize import sanitize_line
from tuilab.model.telemetry import GpuAccess, GpuFacts, GpuProcess, GpuSample, Link

MIB, MEGA = 2**20, 1e6

FIELDS = (
    *("index", "name", "uuid", "compute_cap", "driver_version", "memory.total", "memory.used"),
    *("utilization.gpu", "clocks.sm", "clocks.max.sm", "clocks.mem", "clocks.max.mem"),
    *("power.draw", "power.limit", "temperature.gpu", "pcie.link.gen.current", "pcie.link.gen.max"),
    *("pcie.link.width.current", "pcie.link.width.max"),
    *("compute_mode", "mig.mode.current", "ecc.errors.uncorrected.volatile.total"),
)
"""Fields of `nvidia-smi --query-gpu`. Values are in MiB, MHz, W and °C, and printed without units."""


@dataclass(frozen=True)
class Devices:
    """The GPUs as the driver reports them. source: NVML or nvidia-smi. error: why no GPU is reported. hung:
    the call that did not return.
    """

    found: tuple[GpuDevice, ...] = ()
    source: str = ""
    error: str = ""
    hung: str = ""


def look(place: Place, until: float) -> Devices:
    """Query NVML, or run nvidia-smi if nvidia-ml-py or the NVML library is missing."""
    ran = children.run_own_module(place.environ, until, "nvml")
    facts = children.merge_lines(ran.out)
    if ran.code is None:
        return Devices(hung=str(facts.get("at", "NVML")))
    if "devices" in facts:
        return Devices(msgspec.convert(facts["devices"], tuple[GpuDevice, ...]), "NVML")
    error = sanitize_line(str(facts.get("error") or f"the process that reads NVML {ran.ending}"), 300)
    return _smi(place, until, error)


def _smi(place: Place, until: float, error: str) -> Devices:
    program = shutil.which("nvidia-smi", path=place.environ.get("PATH"))
    if program is None:
        return Devices(error=error)

    def ask(query: str) -> children.Ran:
        return children.run([program, query, "--format=csv,noheader,nounits"], place.environ, until)

    ran = ask(f"--query-gpu={','.join(FIELDS)}")
    if ran.code is None:
        return Devices(hung="nvidia-smi")
    if ran.code:
        text = (ran.out + ran.err).decode(errors="replace").strip()
        return Devices(error=f"nvidia-smi {ran.ending}: {sanitize_line(text, 200)}")
    apps = ask("--query-compute-apps=gpu_uuid,pid,process_name,used_memory")
    gpus, users = (each.out.decode(errors="replace") for each in (ran, apps))
    return Devices(read_smi(gpus, users), "nvidia-smi")


def read_smi(gpus: str, apps: str) -> tuple[GpuDevice, ...]:
    """Parse nvidia-smi's two tables. A missing figure (`[N/A]`) becomes None."""
    users: dict[str, list[GpuProcess]] = {}
    for row in _rows(apps, 4):
        if row[1].isdigit():
            name = sanitize_line(row[2].rpartition("/")[2], 100)
            users.setdefault(row[0], []).append(GpuProcess(int(row[1]), name, _whole(row[3], MIB)))
    out = []
    for row in _rows(gpus, len(FIELDS)):
        cell = dict(zip(FIELDS, row, strict=True))
        out.append(_device(cell, tuple(users.get(cell["uuid"], ()))))
    return tuple(out)


def _device(cell: dict[str, str], users: tuple[GpuProcess, ...]) -> GpuDevice:
    def number(name: str, scale: float = 1.0) -> float | None:
        return _number(cell[name], scale)

    def whole(name: str, scale: int = 1) -> int | None:
        return _whole(cell[name], scale)

    index, name = whole("index") or 0, sanitize_line(cell["name"], 100)
    facts = GpuFacts(
        index=index,
        name=name,
        uuid=sanitize_line(cell["uuid"], 100),
        compute_capability=sanitize_line(cell["compute_cap"], 10),
        memory=whole("memory.total", MIB),
        driver=sanitize_line(cell["driver_version"], 50),
        sm_clock_max_hz=number("clocks.max.sm", MEGA),
        memory_clock_max_hz=number("clocks.max.mem", MEGA),
        power_limit_w=number("power.limit"),
    )
    now = GpuSample(
        index=index,
        name=name,
        use=number("utilization.gpu", 0.01),
        memory_used=whole("memory.used", MIB),
        memory_total=whole("memory.total", MIB),
        sm_clock_hz=number("clocks.sm", MEGA),
        memory_clock_hz=number("clocks.mem", MEGA),
        power_w=number("power.draw"),
        power_limit_w=number("power.limit"),
        temperature_c=number("temperature.gpu"),
        link=Link(
            generation=whole("pcie.link.gen.current"),
            width=whole("pcie.link.width.current"),
            max_generation=whole("pcie.link.gen.max"),
            max_width=whole("pcie.link.width.max"),
        ),
        processes=users,
        unread={"throttle reasons": "available only through NVML"},
    )
    mig = {"Enabled": True, "Disabled": False}.get(cell["mig.mode.current"])
    mode = "" if cell["compute_mode"].startswith("[") else sanitize_line(cell["compute_mode"], 30)
    errors = whole("ecc.errors.uncorrected.volatile.total")
    return GpuDevice(facts, now, GpuAccess(compute_mode=mode, mig=mig, memory_errors=errors))


def _rows(text: str, columns: int) -> list[list[str]]:
    rows = [[cell.strip() for cell in row] for row in csv.reader(io.StringIO(text))]
    return [row for row in rows if len(row) == columns]


def _number(text: str, scale: float) -> float | None:
    try:
        return float(text) * scale
    except ValueError:
        return None


def _whole(text: str, scale: float) -> int | None:
    value = _number(text, scale)
    return None if value is None else int(value)


def probe(found: Devices) -> Probe:
    name = "devices"
    if found.hung:
        return Probe(name, "fail", f"{found.hung} did not answer")
    if found.error:
        return Probe(name, "skip", found.error)
    if not found.found:
        return Probe(name, "fail", f"{found.source} lists no GPU")
    return Probe(name, "ok", "; ".join(describe(device) for device in found.found) + f" (by {found.source})")


def describe(device: GpuDevice) -> str:
    facts, now = device.facts, device.now
    parts = [
        f"GPU {facts.index}: {facts.name}",
        facts.compute_capability and f"compute capability {facts.compute_capability}",
    ]
    if now.memory_total is not None:
        parts.append(f"{size(now.memory_used or 0)} of {size(now.memory_total)} used")
    parts.append(facts.driver and f"driver {facts.driver}")
    parts.append(_against("SM clock", now.sm_clock_hz, facts.sm_clock_max_hz, MEGA, "MHz"))
    parts.append(_against("power", now.power_w, now.power_limit_w, 1.0, "W"))
    parts.append(link(now.link))
    if device.access.compute_mode not in ("", "Default"):
        parts.append(f"compute mode {device.access.compute_mode}")
    if device.access.mig:
        parts.append("MIG is on")
    if device.access.memory_errors:
        parts.append(f"{device.access.memory_errors} uncorrectable memory errors")
    if now.throttle:
        parts.append("throttled: " + ", ".join(now.throttle))
    if now.processes:
        held = ", ".join(
            f"{p.pid} {p.name} {size(p.memory) if p.memory else ''}".strip() for p in now.processes
        )
        parts.append(f"used by {held}")
    return ", ".join(filter(None, parts))


def _against(what: str, value: float | None, limit: float | None, unit: float, name: str) -> str:
    if value is None:
        return ""
    return f"{what} {value / unit:.0f}" + (f" of {limit / unit:.0f}" if limit else "") + f" {name}"


def link(found: Link) -> str:
    """Format the GPU's PCIe link, as in `PCIe 4.0 ×8 (at most 4.0 ×16)`; "" if it is unknown."""
    if found.generation is None or found.width is None:
        return ""
    now = f"PCIe {found.generation}.0 ×{found.width}"
    best = (found.max_generation or found.generation, found.max_width or found.width)
    return now if best == (found.generation, found.width) else f"{now} (at most {best[0]}.0 ×{best[1]})"
