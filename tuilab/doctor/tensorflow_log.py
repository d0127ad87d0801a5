"""What TensorFlow's own start-up lines say, by the wording of its 2.21 sources."""

import re

from tuilab.model.sanitize import sanitize_line

LINES = {
    "no-cudart": r"Could not find cuda drivers on your machine",
    "cuinit": r"failed call to cuInit: .*",
    "no-kernel-driver": r"kernel driver does not appear to be running on this host.*",
    "mismatch": r"kernel version (\S+) does not match DSO version (\S+)",
    "dlopen": r"Could not load dynamic library '([^']+)'; dlerror: (.*?)(?:; LD_LIBRARY_PATH: .*)?$",
    "skipped": r"Cannot dlopen some GPU libraries",
    "too-old": r"Cuda compute capability (\d+\.\d+).*minimum required Cuda capability is (\d+\.\d+)",
    "few-cores": r"with core count: (\d+)\. The minimum required count is (\d+)",
    "ptx": r"not built with CUDA kernel binaries compatible with compute capability (\d+\.\d+)",
    "dnn": r"DNN library (?:initialization failed|is not found)",
    "cudnn-version": r"runtime CuDNN library: (\S+) but source was compiled with: (\S+?)\.?(?:\s|$)",
    "memory": r"CUDNN_STATUS_ALLOC_FAILED|CUDA_ERROR_OUT_OF_MEMORY",
    "libdevice": r"(?:Can't find libdevice directory|libdevice not found|libdevice is required by this)",
    "ptxas": r"(?:Couldn't get ptxas|ptxas.* not found|No PTX compilation provider)",
}
"""Each kind of line by the words that mark it."""

_PATTERNS = {kind: re.compile(pattern) for kind, pattern in LINES.items()}
_PREFIX = re.compile(r"^(?:[IWEF]\d{4} [\d:.]+\s+\d+ |\d{4}-\d\d-\d\d [\d:.]+: [IWEF] )?\S+\.cc:\d+\] ")

_ADVICE = re.compile(r"(; LD_LIBRARY_PATH: | Please make sure the missing ).*")


class TensorFlowLog:
    """The telling lines of one process, by kind."""

    def __init__(self, text: str = "") -> None:
        self._found: dict[str, list[re.Match[str]]] = {}
        self.lines: list[str] = []
        for line in text.splitlines():
            self._take(sanitize_line(line, 1_000))

    def _take(self, line: str) -> None:
        told = False
        for kind, pattern in _PATTERNS.items():
            match = pattern.search(line)
            if match:
                self._found.setdefault(kind, []).append(match)
                told = True
        short = _ADVICE.sub("", _PREFIX.sub("", line))
        if told and short not in self.lines:
            self.lines.append(short)

    def __contains__(self, kind: str) -> bool:
        return kind in self._found

    def groups(self, kind: str) -> tuple[str, ...]:
        """The captured words of the first line of that kind; empty where there is none."""
        return self._found[kind][0].groups() if kind in self._found else ()

    def text(self, kind: str) -> str:
        """The first line of that kind, from its telling words on; empty where there is none."""
        return self._found[kind][0][0] if kind in self._found else ""

    def unloaded(self) -> dict[str, str]:
        """Libraries that TensorFlow could not open, with the loader's reason."""
        return {match[1]: match[2] for match in self._found.get("dlopen", [])}
