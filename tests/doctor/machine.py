"""A fake machine with files of /proc, /dev and /sys, installed packages, CUDA libraries, and a driver."""

import json
import os
import shutil
import subprocess
import sys
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

from tuilab.doctor.examine import examine
from tuilab.doctor.place import Place
from tuilab.doctor.tensorflow import WORK
from tuilab.model.doctor import Built, DoctorReport, Imported, Listed, ListedGpu, Stage, Tried, encode

SOURCE = Path(__file__).with_name("stub_libcuda.c")
ARCHITECTURES = ("sm_60", "sm_70", "sm_80", "sm_89", "compute_90")

CUDA_WHEELS = {
    "nvidia-cuda-runtime-cu12": ("cuda_runtime", ["libcudart.so.12"]),
    "nvidia-cublas-cu12": ("cublas", ["libcublas.so.12", "libcublasLt.so.12"]),
    "nvidia-cufft-cu12": ("cufft", ["libcufft.so.11"]),
    "nvidia-cusolver-cu12": ("cusolver", ["libcusolver.so.11"]),
    "nvidia-cusparse-cu12": ("cusparse", ["libcusparse.so.12"]),
    "nvidia-cudnn-cu12": ("cudnn", ["libcudnn.so.9"]),
    "nvidia-nccl-cu12": ("nccl", ["libnccl.so.2"]),
    "nvidia-cuda-cupti-cu12": ("cuda_cupti", ["libcupti.so.12"]),
}


def compiled(gcc: str, folder: Path, run_path: str = "", soname: str = "") -> Path:
    out = folder / (soname or "stub.so")
    options = [f"-Wl,-rpath,{run_path}", "-Wl,--enable-new-dtags"] if run_path else []
    options += [f"-Wl,-soname,{soname}"] if soname else []
    subprocess.run([gcc, "-shared", "-fPIC", *options, "-o", out, SOURCE], check=True, timeout=60)
    return out


@dataclass
class Machine:
    """A fake machine for a test to set up and examine. stub: the compiled driver."""

    folder: Path
    stub: Path
    framework: Path
    environ: dict[str, str] = field(default_factory=dict)
    processor: str = "x86_64"

    def __post_init__(self) -> None:
        self.root, self.site, self.lib = (self.folder / name for name in ("root", "site", "lib"))
        for made in (self.root / "dev", self.root / "proc", self.site, self.lib):
            made.mkdir(parents=True)
        # An empty folder would mean that the bus is unreadable, so add a device of another vendor.
        self.pci("0000:00:00.0", "0x8086", "0x060000")
        (self.root / "etc").mkdir()
        (self.root / "etc/os-release").write_text('ID=ubuntu\nID_LIKE=debian\nVERSION_ID="24.04"\n')
        self.environ |= {"PATH": os.environ["PATH"], "HOME": str(self.folder), "LANG": "C.UTF-8"}
        self.says()

    def pci(self, slot: str, vendor: str, kind: str, driver: str = "") -> None:
        device = self.root / "sys/bus/pci/devices" / slot
        device.mkdir(parents=True)
        (device / "vendor").write_text(vendor + "\n")
        (device / "class").write_text(kind + "\n")
        (device / "device").write_text("0x2684\n")
        if driver:
            target = self.root / "sys/bus/pci/drivers" / driver
            target.mkdir(parents=True, exist_ok=True)
            (device / "driver").symlink_to(target)

    def gpu(self, driver: str = "nvidia") -> None:
        self.pci("0000:01:00.0", "0x10de", "0x030000", driver)

    def kernel(self, version: str = "570.86.15", *, nodes: bool = True) -> None:
        file = self.root / "proc/driver/nvidia/version"
        file.parent.mkdir(parents=True)
        text = (
            f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {version}  Wed Jan 22 2025\nGCC version: 12\n"
        )
        file.write_text(text)
        for name in ("nvidia0", "nvidiactl", "nvidia-uvm") if nodes else ():
            (self.root / "dev" / name).touch()

    def driver(self, version: str = "570.86.15", *, nvml: bool = True, **stub: int | str) -> None:
        """Add the user-space part of the driver. stub: the results of its calls."""
        library = self.lib / f"libcuda.so.{version}"
        shutil.copy(self.stub, library)
        (self.lib / "libcuda.so.1").symlink_to(library)
        if nvml:
            shutil.copy(self.stub, self.lib / "libnvidia-ml.so.1")
        self.environ |= {f"STUB_{name.upper()}": str(value) for name, value in stub.items()}
        self.environ["LD_LIBRARY_PATH"] = str(self.lib)

    def file(self, path: str, text: str = "") -> None:
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def module(self, kernel: str, *, running: str = "6.8.0-48-generic") -> None:
        """Add the driver's kernel module, built for kernel version `kernel`. running: version of the running
        kernel.
        """
        self.file("/proc/sys/kernel/osrelease", f"{running}\n")
        self.file(f"/lib/modules/{running}/modules.dep", "kernel/drivers/net/veth.ko.zst:\n")
        self.file(f"/lib/modules/{kernel}/modules.dep", "updates/dkms/nvidia.ko.zst: kernel/drivers/drm.ko\n")

    def refuses(self, path: str, why: int) -> None:
        self.environ |= {
            "LD_PRELOAD": str(self.stub),
            "STUB_REFUSED": f"{self.root}/dev/{path}",
            "STUB_ERRNO": str(why),
        }

    def nvml(self, **gpu: object) -> None:
        """Add a fake nvidia-ml-py. gpu: the return values of its calls (see fake_pynvml.py)."""
        source = Path(__file__).with_name("fake_pynvml.py")
        module = self.folder / "child" / "pynvml.py"
        module.write_text(source.read_text())
        self.environ["FAKE_NVML"] = json.dumps(gpu)

    def package(self, name: str, version: str, requires: tuple[str, ...] = ()) -> None:
        info = self.site / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        lines = [f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}"]
        lines += [f"Requires-Dist: {line}" for line in requires]
        (info / "METADATA").write_text("\n".join(lines) + "\n")

    def tensorflow(self, name: str = "tensorflow", version: str = "2.21.0") -> None:
        wheels = [f"{wheel}<13.0,>=9.1; extra == 'and-cuda'" for wheel in CUDA_WHEELS]
        self.package(name, version, ("numpy>=1.26", *wheels))
        self.package("pip", "25.0")
        home = self.site / "tensorflow"
        home.mkdir()
        (home / "__init__.py").write_text("raise AssertionError('the doctor imported TensorFlow')\n")
        shutil.copy(self.framework, home / "libtensorflow_framework.so.2")

    def wheels(self, *, without: tuple[str, ...] = ()) -> None:
        for wheel, (folder, names) in CUDA_WHEELS.items():
            if wheel in without:
                continue
            self.package(wheel, "12.5.1")
            lib = self.site / "nvidia" / folder / "lib"
            lib.mkdir(parents=True, exist_ok=True)
            for name in names:
                shutil.copy(self.stub, lib / name)

    def says(self, *stages: Stage, err: str = "", then: str = "") -> None:
        if not stages:
            stages = (IMPORTED, BUILT, Listed())
        module = self.folder / "child" / "canned.py"
        module.parent.mkdir(exist_ok=True)
        out = b"".join(map(encode, stages))
        code = f"""\
            import os, sys, time
            os.write(1, {out!r})
            os.write(2, {err.encode()!r})
            {then}
            """
        module.write_text(textwrap.dedent(code))
        self.environ["PYTHONPATH"] = str(module.parent)

    def place(self) -> Place:
        return Place(
            root=self.root,
            environ=self.environ,
            python=sys.executable,
            platform="linux",
            machine=self.processor,
            metadata=(str(self.site),),
            worker="canned",
        )

    def examine(self, limit_s: float = 20.0) -> DoctorReport:
        return examine(self.place(), limit_s)

    def healthy(self) -> None:
        self.gpu()
        self.kernel()
        self.driver()
        self.tensorflow()
        self.wheels()
        solver = self.site / "nvidia/cusolver/lib"
        self.environ["LD_LIBRARY_PATH"] = f"{self.lib}:{solver}"

    def sees(self, capability: str = "8.9", err: str = "", *tried: Tried) -> None:
        gpu = ListedGpu(name="GPU:0", description="Stub GPU", compute_capability=capability)
        work = tried or tuple(Tried(what=what, device="GPU:0", seconds=0.1) for what in WORK)
        self.says(IMPORTED, BUILT, Listed(gpus=(gpu,)), *work, err=err)


IMPORTED = Imported(version="2.21.0", seconds=2.0)
BUILT = Built(cuda=True, cuda_version="12.5.1", cudnn_version="9", architectures=ARCHITECTURES)
