"""Interprets TensorFlow's messages and errors, by the wording of version 2.21 and of bug reports for older
versions.
"""

import re
from collections.abc import Sequence

from tuilab.model.sanitize import sanitize_line

LINES = {
    "no-cudart": r"Could not find cuda drivers on your machine",
    "cuinit": r"failed call to cuInit: .*",
    "no-kernel-driver": r"kernel driver does not appear to be running on this host.*",
    "mismatch": r"kernel version (\S+) does not match DSO version (\S+)",
    "dlopen": r"Could not load dynamic library '([^']+)'; dlerror: (.*?)(?:; LD_LIBRARY_PATH: .*)?$",
    "skipped": r"Cannot dlopen some GPU libraries",
    "no-supported-device": r"no supported devices found for platform CUDA",
    "runtime": r"(?:cuda[GS]etDevice\(\)|CUDA runtime implicit initialization)(?: on GPU:\d+)? failed\."
    r" Status: .*",
    "busy": r"CUDA_ERROR_DEVICE_UNAVAILABLE|CUDA-capable device(?:s are|\(s\) is/are) busy or unavailable",
    "ecc": r"CUDA_ERROR_ECC_UNCORRECTABLE|uncorrectable ECC error",
    "old-driver": r"CUDA_ERROR_UNSUPPORTED_PTX_VERSION|unsupported toolchain|driver version is insufficient"
    r"|API call is not supported in the installed CUDA driver",
    "too-old": r"Cuda compute capability (\d+\.\d+).*minimum required Cuda capability is (\d+\.\d+)",
    "few-cores": r"with core count: (\d+)\. The minimum required count is (\d+)",
    "ptx": r"not built with CUDA kernel binaries compatible with compute capability (\d+\.\d+)",
    "invalid-ptx": r"CUDA_ERROR_INVALID_PTX",
    "invalid-handle": r"CUDA_ERROR_INVALID_HANDLE",
    "dnn": r"DNN library (?:initialization failed|is not found)|CUDNN_STATUS_NOT_INITIALIZED"
    r"|CUDNN_STATUS_SUBLIBRARY_\w+",
    "cudnn-version": r"runtime CuDNN library: (\S+) but source was compiled with: (\S+?)\.?(?:\s|$)",
    "memory": r"CUDNN_STATUS_ALLOC_FAILED|CUDA_ERROR_OUT_OF_MEMORY|ResourceExhausted"
    r"|CUBLAS_STATUS_NOT_INITIALIZED|failed to allocate|Status: out of memory",
    "libdevice": r"(?:Can't find libdevice directory|libdevice not found|libdevice is required by this)",
    "ptxas": r"(?:Couldn't get ptxas|Couldn't invoke ptxas|Failed to launch ptxas|Can't find ptxas"
    r"|ptxas.* not found|No PTX compilation provider)",
}
_PATTERNS = {kind: re.compile(pattern) for kind, pattern in LINES.items()}
_PREFIX = re.compile(r"^(?:[IWEF]\d{4} [\d:.]+\s+\d+ |\d{4}-\d\d-\d\d [\d:.]+: [IWEF] )?\S+\.cc:\d+\] ")

_ADVICE = re.compile(r"(; LD_LIBRARY_PATH: | Please make sure the missing ).*")


class TensorFlowLog:
    """TensorFlow's messages and errors that point to a cause, by kind. lines: the messages without their
    prefixes.
    """

    def __init__(self, text: str = "", errors: Sequence[str] = ()) -> None:
        self._found: dict[str, list[re.Match[str]]] = {}
        self.lines: list[str] = []
        for line in text.splitlines():
            clean = sanitize_line(line, 1_000)
            short = _ADVICE.sub("", _PREFIX.sub("", clean))
            if self._take(clean) and short not in self.lines:
                self.lines.append(short)
        for error in errors:
            self._take(error)

    def _take(self, line: str) -> bool:
        found = {kind: match for kind, pattern in _PATTERNS.items() if (match := pattern.search(line))}
        for kind, match in found.items():
            self._found.setdefault(kind, []).append(match)
        return bool(found)

    def __contains__(self, kind: str) -> bool:
        return kind in self._found

    def groups(self, kind: str) -> tuple[str, ...]:
        """Return the captured groups of the first message of that kind; `()` if there is none."""
        return self._found[kind][0].groups() if kind in self._found else ()

    def text(self, kind: str) -> str:
        """Return the first message of that kind, from its characteristic words on; "" if there is none."""
        return self._found[kind][0][0] if kind in self._found else ""

    def unloaded(self) -> dict[str, str]:
        """Map each library that TensorFlow could not open to the loader's reason."""
        return {match[1]: match[2] for match in self._found.get("dlopen", [])}
