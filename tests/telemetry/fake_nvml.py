"""A fake `pynvml` with one GPU. Each test sets the answers."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

NOT_SUPPORTED, NO_PERMISSION, NOT_LOADED = 3, 4, 9
TEXTS = {
    NOT_SUPPORTED: "Not Supported",
    NO_PERMISSION: "Insufficient Permissions",
    NOT_LOADED: "Driver Not Loaded",
}
BUS = b"0000:01:00.0"


class NVMLError(Exception):
    def __init__(self, value: int) -> None:
        super().__init__(TEXTS[value])
        self.value = value


def one_of(answers: dict[Any, Any], error: int = NOT_SUPPORTED) -> Callable[..., Any]:
    """Return a function whose answer depends on its last argument. The function raises an error for other
    arguments.
    """

    def call(*asked: Any) -> Any:
        if asked[-1] not in answers:
            raise NVMLError(error)
        return answers[asked[-1]]

    return call


class FakeNvml:
    """Provides the names of pynvml that tuilab uses.

    answers: the result of each call, or a function that returns the result. refuse: the error that a call
    raises.
    """

    NVMLError = NVMLError
    NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_TEMPERATURE_GPU = 1, 2, 0
    NVML_FI_DEV_PCIE_COUNT_TX_BYTES, NVML_FI_DEV_PCIE_COUNT_RX_BYTES = 197, 198

    def __init__(self) -> None:
        self.refuse: dict[str, int] = {}
        self.counters = [1_000, 2_000]
        self.use = {42: 80, 7: 0}
        """Percentage of the time in which each process computed."""
        self.opened = 0
        processes = [SimpleNamespace(pid=42, usedGpuMemory=3_000), SimpleNamespace(pid=7, usedGpuMemory=None)]
        violations = {
            n: SimpleNamespace(referenceTime=1, violationTime=t) for n, t in ((0, 2 * 10**9), (1, 0))
        }
        self.answers: dict[str, Any] = {
            "nvmlInit": lambda: self.count(1),
            "nvmlShutdown": lambda: self.count(-1),
            "nvmlDeviceGetCount": 1,
            "nvmlDeviceGetHandleByIndex": one_of({0: "handle 0"}),
            "nvmlDeviceGetHandleByPciBusId": one_of({BUS: "handle 0"}),
            "nvmlDeviceGetName": b"NVIDIA \x1b[31mTest\x1b[0m GPU",
            "nvmlDeviceGetUUID": "GPU-1",
            "nvmlDeviceGetCudaComputeCapability": (8, 9),
            "nvmlSystemGetCudaDriverVersion": 12080,
            "nvmlSystemGetDriverVersion": "570.86.15",
            "nvmlDeviceGetMemoryInfo": SimpleNamespace(total=8_000, used=2_000, free=6_000),
            "nvmlDeviceGetUtilizationRates": SimpleNamespace(gpu=97, memory=40),
            "nvmlDeviceGetClockInfo": one_of({1: 1_500, 2: 9_000}),
            "nvmlDeviceGetMaxClockInfo": one_of({1: 2_000, 2: 10_000}),
            "nvmlDeviceGetPowerUsage": 251_500,
            "nvmlDeviceGetEnforcedPowerLimit": 300_000,
            "nvmlDeviceGetTemperature": 83,
            "nvmlDeviceGetCurrentClocksEventReasons": 0x4 | 0x40 | 0x1,
            "nvmlDeviceGetCurrPcieLinkGeneration": 4,
            "nvmlDeviceGetMaxPcieLinkGeneration": 4,
            "nvmlDeviceGetCurrPcieLinkWidth": 8,
            "nvmlDeviceGetMaxPcieLinkWidth": 16,
            "nvmlDeviceGetFieldValues": self.fields,
            "nvmlDeviceGetViolationStatus": one_of(violations),
            "nvmlDeviceGetProcessUtilization": lambda *_: [
                SimpleNamespace(pid=pid, timeStamp=0, smUtil=share) for pid, share in self.use.items()
            ],
            "nvmlDeviceGetComputeRunningProcesses": processes,
            "nvmlDeviceGetGraphicsRunningProcesses": [],
            "nvmlSystemGetProcessName": one_of({42: "/usr/bin/python3"}, NO_PERMISSION),
        }

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if not name.startswith("nvml") or name not in self.answers:
            raise AttributeError(name)

        def call(*asked: Any) -> Any:
            if name in self.refuse:
                raise NVMLError(self.refuse[name])
            answer = self.answers[name]
            return answer(*asked) if callable(answer) else answer

        return call

    def count(self, opened: int) -> None:
        self.opened += opened

    def fields(self, handle: str, fields: list[int]) -> list[SimpleNamespace]:
        value = dict(zip((197, 198), self.counters, strict=True))
        return [SimpleNamespace(nvmlReturn=0, value=SimpleNamespace(ullVal=value[field])) for field in fields]
