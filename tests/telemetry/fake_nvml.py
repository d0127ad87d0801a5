"""A module that stands in for `pynvml`: one GPU, whose answers a test sets."""

from types import SimpleNamespace
from typing import Any

NOT_SUPPORTED, NO_PERMISSION = 3, 4


TEXTS = {
    NOT_SUPPORTED: "Not Supported",
    NO_PERMISSION: "Insufficient Permissions",
    9: "Driver Not Loaded",
}


class NVMLError(Exception):
    def __init__(self, value: int) -> None:
        self.value = value

    def __str__(self) -> str:
        return TEXTS[self.value]


class FakeNvml:
    """The names of pynvml that the lab uses. `refuse` maps a call to the error that it raises."""

    NVMLError = NVMLError
    NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_TEMPERATURE_GPU = 1, 2, 0
    NVML_FI_DEV_PCIE_COUNT_TX_BYTES, NVML_FI_DEV_PCIE_COUNT_RX_BYTES = 197, 198

    def __init__(self) -> None:
        self.refuse: dict[str, int] = {}
        self.count = 1
        self.reasons = 0x4 | 0x40 | 0x1
        self.counters = [1_000, 2_000]
        self.processes = [
            SimpleNamespace(pid=42, usedGpuMemory=3_000),
            SimpleNamespace(pid=7, usedGpuMemory=None),
        ]
        self.violations = {0: 2_000_000_000, 1: 0}
        self.use = [
            SimpleNamespace(pid=42, timeStamp=0, smUtil=80),
            SimpleNamespace(pid=7, timeStamp=0, smUtil=0),
        ]
        self.opened = 0

    def __getattribute__(self, name: str) -> Any:
        refuse = object.__getattribute__(self, "__dict__").get("refuse", {})
        if name in refuse:

            def raising(*_: Any) -> Any:
                raise NVMLError(refuse[name])

            return raising
        return object.__getattribute__(self, name)

    def nvmlInit(self) -> None:
        self.opened += 1

    def nvmlShutdown(self) -> None:
        self.opened -= 1

    def nvmlDeviceGetCount(self) -> int:
        return self.count

    def nvmlDeviceGetHandleByIndex(self, index: int) -> str:
        if not 0 <= index < self.count:
            raise NVMLError(NOT_SUPPORTED)
        return f"handle {index}"

    def nvmlDeviceGetHandleByPciBusId(self, bus: bytes) -> str:
        if bus != b"0000:01:00.0":
            raise NVMLError(NOT_SUPPORTED)
        return "handle 0"

    def nvmlDeviceGetName(self, handle: str) -> bytes:
        return b"NVIDIA \x1b[31mTest\x1b[0m GPU"

    def nvmlDeviceGetUUID(self, handle: str) -> str:
        return "GPU-1"

    def nvmlDeviceGetCudaComputeCapability(self, handle: str) -> tuple[int, int]:
        return (8, 9)

    def nvmlSystemGetCudaDriverVersion(self) -> int:
        return 12080

    def nvmlSystemGetDriverVersion(self) -> str:
        return "570.86.15"

    def nvmlDeviceGetMemoryInfo(self, handle: str) -> SimpleNamespace:
        return SimpleNamespace(total=8_000, used=2_000, free=6_000)

    def nvmlDeviceGetUtilizationRates(self, handle: str) -> SimpleNamespace:
        return SimpleNamespace(gpu=97, memory=40)

    def nvmlDeviceGetClockInfo(self, handle: str, kind: int) -> int:
        return {1: 1_500, 2: 9_000}[kind]

    def nvmlDeviceGetMaxClockInfo(self, handle: str, kind: int) -> int:
        return {1: 2_000, 2: 10_000}[kind]

    def nvmlDeviceGetPowerUsage(self, handle: str) -> int:
        return 251_500

    def nvmlDeviceGetEnforcedPowerLimit(self, handle: str) -> int:
        return 300_000

    def nvmlDeviceGetTemperature(self, handle: str, sensor: int) -> int:
        return 83

    def nvmlDeviceGetCurrentClocksEventReasons(self, handle: str) -> int:
        return self.reasons

    def nvmlDeviceGetCurrPcieLinkGeneration(self, handle: str) -> int:
        return 4

    nvmlDeviceGetMaxPcieLinkGeneration = nvmlDeviceGetCurrPcieLinkGeneration

    def nvmlDeviceGetCurrPcieLinkWidth(self, handle: str) -> int:
        return 8

    def nvmlDeviceGetMaxPcieLinkWidth(self, handle: str) -> int:
        return 16

    def nvmlDeviceGetFieldValues(self, handle: str, fields: list[int]) -> list[SimpleNamespace]:
        value = dict(zip((197, 198), self.counters, strict=True))
        return [SimpleNamespace(nvmlReturn=0, value=SimpleNamespace(ullVal=value[field])) for field in fields]

    def nvmlDeviceGetViolationStatus(self, handle: str, policy: int) -> SimpleNamespace:
        if policy not in self.violations:
            raise NVMLError(NOT_SUPPORTED)
        return SimpleNamespace(referenceTime=1, violationTime=self.violations[policy])

    def nvmlDeviceGetProcessUtilization(self, handle: str, since: int) -> list[SimpleNamespace]:
        return self.use

    def nvmlDeviceGetComputeRunningProcesses(self, handle: str) -> list[SimpleNamespace]:
        return self.processes

    def nvmlDeviceGetGraphicsRunningProcesses(self, handle: str) -> list[SimpleNamespace]:
        return []

    def nvmlSystemGetProcessName(self, pid: int) -> str:
        if pid == 7:
            raise NVMLError(NO_PERMISSION)
        return "/usr/bin/python3"
