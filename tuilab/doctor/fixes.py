"""Builds the exact commands that fix a cause, for this Python, container and distribution."""

import shlex
from collections.abc import Mapping

from tuilab.doctor.findings import Findings

SERIES = "2.21"
"""The TensorFlow series to install if no version is installed."""


def pip(f: Findings, action: str) -> str:
    """Return the `pip` command for the examined Python; `uv pip` if this Python has no pip."""
    if f.packages.pip:
        return f"{shlex.quote(f.python)} -m pip {action}"
    verb, _, rest = action.partition(" ")
    return f"uv pip {verb} --python {shlex.quote(f.python)} {rest.removeprefix('-y ')}"


def with_cuda(f: Findings) -> str:
    """Return the quoted pip requirement for the installed TensorFlow series with its CUDA wheels."""
    series = ".".join(f.packages.version.split(".")[:2]) if f.packages.version.count(".") else SERIES
    return f'"tensorflow[and-cuda]=={series}.*"'


PLUGGABLE = "TF_PLUGGABLE_DEVICE_LIBRARY_PATH"
"""Environment variable with the path of a pluggable device's library."""


def install_cuda(f: Findings) -> str:
    return pip(f, f"install {with_cuda(f)}")


def reinstall(f: Findings) -> str:
    """Return the command that reinstalls TensorFlow, or the plug-in that provides the GPU."""
    if f.tensorflow.pluggable:
        library = f.environment.variables.get(PLUGGABLE, "")
        return f"# update the plug-in that provides the device{f': {library}' if library else ''}"
    return pip(f, f"install --force-reinstall {with_cuda(f)}")


def requirement(f: Findings, wheel: str, options: str = "") -> str:
    """Return the command that installs a wheel in the version that TensorFlow requires.

    If that version is unknown, the command installs all wheels.
    """
    if wheel not in f.packages.wanted:
        return reinstall(f)
    return pip(f, f'install {options}"{f.packages.wanted[wheel]}"')


NVCC_WHEEL = "nvidia-cuda-nvcc-cu12"


def ptxas(f: Findings) -> str:
    """Return the command that makes ptxas available to XLA: adds the installed wheel to PATH, or installs the
    wheel.
    """
    home = f.packages.tensorflow_home
    if home is not None and NVCC_WHEEL in f.packages.wheels:
        return f'export PATH="{home.parent / "nvidia" / "cuda_nvcc" / "bin"}:$PATH"'
    return requirement(f, NVCC_WHEEL)


def on_host(f: Findings, command: str) -> str:
    """Return the command. If this process is in a container, add a note to run the command on the host."""
    return f"{command}  # on the host, outside the container" if f.container.kind else command


def other_machine(why: str) -> str:
    """Return the advice to measure on another machine, because this machine's fault cannot be fixed."""
    return f"tuilab run PRESET --host HOST  # {why}"


def install_driver(f: Findings) -> str:
    if f.hardware.wsl:
        return "wsl --update  # in Windows, after installing NVIDIA's driver for Windows"
    other = "sudo reboot  # after installing the driver from https://www.nvidia.com/drivers"
    return _here(f, DRIVER_BY_DISTRIBUTION) or other


def _here(f: Findings, commands: Mapping[str, str]) -> str:
    """Return the command for this distribution; "" if there is none. commands: by ID or ID_LIKE of
    /etc/os-release.
    """
    return next((commands[name] for name in f.hardware.distribution if name in commands), "")


DRIVER_BY_DISTRIBUTION = {
    "ubuntu": "sudo apt-get install -y ubuntu-drivers-common && sudo ubuntu-drivers install && sudo reboot",
    "debian": "sudo apt-get install -y nvidia-driver && sudo reboot",
    "fedora": "sudo dnf install -y akmod-nvidia xorg-x11-drv-nvidia-cuda && sudo reboot",
    "rhel": "sudo dnf module install -y nvidia-driver:latest-dkms && sudo reboot",
    "arch": "sudo pacman -S --needed nvidia nvidia-utils && sudo reboot",
}
"""Commands that install the driver, by ID or ID_LIKE of /etc/os-release.

They need extra repositories: non-free on Debian, RPM Fusion on Fedora, NVIDIA's CUDA repository on RHEL.
"""


def user_space(f: Findings) -> str:
    """Return the command that installs libcuda and libnvidia-ml in the version of the kernel driver."""
    major = f.kernel.version.partition(".")[0]
    if "ubuntu" in f.hardware.distribution and major.isdigit():
        return f"sudo apt-get install -y libnvidia-compute-{major}"
    return _here(f, USER_SPACE_BY_DISTRIBUTION) or install_driver(f)


USER_SPACE_BY_DISTRIBUTION = {
    "debian": "sudo apt-get install -y libcuda1 libnvidia-ml1",
    "fedora": "sudo dnf install -y xorg-x11-drv-nvidia-cuda-libs",
    "arch": "sudo pacman -S --needed nvidia-utils",
}


def load_module(f: Findings) -> str:
    """Return the command for the next step: build the driver's kernel module, enroll its signing key, or load
    it.
    """
    kernel = f.kernel
    if kernel.module and kernel.secure_boot:
        key = kernel.signing_key or "/var/lib/shim-signed/mok/MOK.der"
        return f"sudo mokutil --import {key} && sudo reboot  # choose “Enroll MOK” at the next boot"
    if kernel.module:
        return "sudo modprobe nvidia && sudo modprobe nvidia_uvm"
    build = _here(f, MODULE_BY_DISTRIBUTION) if kernel.built_for or kernel.dkms else ""
    return f"{build} && sudo modprobe nvidia" if build else install_driver(f)


MODULE_BY_DISTRIBUTION = {
    "debian": "sudo apt-get install -y linux-headers-$(uname -r) && sudo dkms autoinstall",
    "fedora": "sudo dnf install -y kernel-devel-$(uname -r) && sudo akmods --force",
    "rhel": "sudo dnf install -y kernel-devel-$(uname -r) && sudo dkms autoinstall",
    "arch": "sudo pacman -S --needed linux-headers && sudo dkms autoinstall",
}
"""Commands that build the NVIDIA kernel module for the running kernel, by ID or ID_LIKE of /etc/os-release
(`debian` covers Ubuntu).
"""


def keep_out(f: Findings, driver: str) -> str:
    """Return the commands that keep another kernel driver from taking the GPU at the next boot."""
    image = _here(f, INITRAMFS) or INITRAMFS["debian"]
    file = f"/etc/modprobe.d/blacklist-{driver}.conf"
    return f"echo 'blacklist {driver}' | sudo tee {file} && sudo {image} && sudo reboot"


INITRAMFS = {
    "debian": "update-initramfs -u",
    "fedora": "dracut --force",
    "rhel": "dracut --force",
    "arch": "mkinitcpio -P",
}
"""Commands that rebuild the initramfs, which contains the drivers that load early."""

TOOLKIT = (
    "sudo apt-get install -y nvidia-container-toolkit && sudo nvidia-ctk runtime configure --runtime=docker"
    " && sudo systemctl restart docker  # in the WSL distribution; then: docker run --gpus all IMAGE"
)
"""Commands that install NVIDIA's Container Toolkit, which provides the driver's libraries to containers.
Docker Desktop includes the toolkit; `apt-get` needs NVIDIA's repository.
"""

NVIDIA_IMAGE = "nvcr.io/nvidia/tensorflow:25.02-tf2-py3"
"""NVIDIA's last TensorFlow image (2.17). It also runs on aarch64 with CUDA, and contains machine code for
Blackwell.
"""


def nvidia_image(f: Findings) -> str:
    """Return the command that starts NVIDIA's own build of TensorFlow, for a processor or GPU that the wheel
    does not support.
    """
    if f.hardware.jetson:
        return f"docker run --runtime nvidia -it --rm {NVIDIA_IMAGE}-igpu"
    return f"docker run --gpus all -it --rm {NVIDIA_IMAGE}  # TensorFlow 2.17"


def restart_container(f: Findings) -> str:
    """Return the command that restarts the container. Nothing else restores its access to the device
    files.
    """
    return RESTARTS.get(f.container.kind, RESTARTS["docker"])


RESTARTS = {
    "docker": "docker restart CONTAINER  # on the host",
    "podman": "podman restart CONTAINER  # on the host",
    "kubernetes": "kubectl delete pod POD  # its deployment starts a new one",
    "lxc": "lxc restart CONTAINER  # on the host",
}

CONTAINERS = {
    "docker": "docker run --gpus all IMAGE",
    "podman": "podman run --device nvidia.com/gpu=all IMAGE",
    "apptainer": "apptainer exec --nv IMAGE COMMAND",
    "kubernetes": 'kubectl patch deployment NAME --type=json -p \'[{"op":"add","path":'
    '"/spec/template/spec/containers/0/resources/limits","value":{"nvidia.com/gpu":"1"}}]\'',
    "lxc": "lxc config device add CONTAINER gpu gpu",
}


def container_gpu(f: Findings) -> str:
    return CONTAINERS.get(f.container.kind, CONTAINERS["docker"])


def container_driver_libraries(f: Findings) -> str:
    """Return the command that starts the container with its GPUs and with the driver's compute and NVML
    libraries.
    """
    if f.container.kind in ("docker", "podman"):
        return container_gpu(f).replace(" IMAGE", " -e NVIDIA_DRIVER_CAPABILITIES=compute,utility IMAGE")
    return container_gpu(f)


def library_path(*folders: str) -> str:
    """Return the command that puts these folders first in the loader's search path."""
    return f'export LD_LIBRARY_PATH="{":".join(folders)}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"'


def library_path_without(f: Findings, folder: str) -> str:
    left = [part for part in f.environment.library_folders if part.rstrip("/") != folder.rstrip("/")]
    return f'export LD_LIBRARY_PATH="{":".join(left)}"' if left else "unset LD_LIBRARY_PATH"
