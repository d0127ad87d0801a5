"""Startup messages of TensorFlow 2.21 for causes that require a GPU."""

NO_CUDART = (
    "I0000 00:00:1795221189.839861    4167 cudart_stub.cc:31] Could not find cuda drivers on your machine, "
    "GPU will not be used.\n"
)
CUINIT_303 = (
    "E0000 00:00:1795221191.353022    4167 cuda_platform.cc:52] failed call to cuInit: INTERNAL: CUDA error: "
    "Failed call to cuInit: UNKNOWN ERROR (303)\n"
    "I0000 00:00:1795221191.353081    4167 cuda_diagnostics.cc:145] kernel driver does not appear to be "
    "running on this host (vm): /proc/driver/nvidia/version does not exist\n"
)
SKIPPED = (
    "W0000 00:00:1795221356.954793    5090 gpu_device.cc:2365] Cannot dlopen some GPU libraries. Please "
    "make sure the missing libraries mentioned above are installed properly if you would like to use GPU.\n"
    "Skipping registering GPU devices...\n"
)


def dlopen(soname: str, why: str) -> str:
    return (
        f"I0000 00:00:1795221701.830854    8692 dso_loader.cc:144] Could not load dynamic library "
        f"'{soname}'; dlerror: {why}; LD_LIBRARY_PATH: /opt/lib\n"
    )


def newer(capability: str) -> str:
    return (
        "W0000 00:00:1795221397.913112    5972 gpu_device.cc:2459] TensorFlow was not built with CUDA kernel "
        f"binaries compatible with compute capability {capability}. CUDA kernels will be jit-compiled from "
        f"PTX, which could take 30 minutes or longer.\n"
    )


TOO_OLD = (
    "I0000 00:00:1795221640.349676    8148 gpu_device.cc:2412] Ignoring visible gpu device (device: 0, "
    "name: Stub GPU, pci bus id: 0000:00:04.0, compute capability: 3.0) with Cuda compute capability 3.0. "
    "The minimum required Cuda capability is 3.5.\n"
)
FEW_CORES = (
    "I0000 00:00:1795221410.770384    6040 gpu_device.cc:2439] Ignoring visible gpu device (device: 0, "
    "name: Stub GPU, pci bus id: 0000:00:04.0, compute capability: 9.0a) with core count: 8. The minimum "
    "required count is 99. You can adjust this requirement with the env var "
    "TF_MIN_GPU_MULTIPROCESSOR_COUNT.\n"
)
CUDNN = (
    "E0000 00:00:1795221410.770384    6040 cuda_dnn.cc:522] Loaded runtime CuDNN library: 9.1.0 but source "
    "was compiled with: 9.3.0.  CuDNN library needs to have matching major version and equal or higher "
    "minor version.\n"
)
LIBDEVICE = (
    "W0000 00:00:1795221410.770384    6040 nvptx_libdevice_path.cc:40] Can't find libdevice directory "
    "${CUDA_DIR}/nvvm/libdevice. This may result in compilation or runtime failures.\n"
)
MISMATCH = (
    "E0000 00:00:1795221410.770384    6040 cuda_diagnostics.cc:205] kernel version 565.57.1 does not match "
    "DSO version 570.86.15 -- cannot find working devices in this configuration\n"
)
INVALID_PTX = (
    "W0000 00:00:1795221410.770384    6040 tf_gpu_runtime_wrappers.cc:40] 'cuModuleLoadData(&module, data)' "
    "failed with 'CUDA_ERROR_INVALID_PTX'\n"
)
NO_PTXAS = (
    "W0000 00:00:1795221410.770384    6040 subprocess_compilation.cc:100] Couldn't get ptxas version string: "
    "INTERNAL: Couldn't invoke ptxas --version\n"
    "W0000 00:00:1795221410.770384    6040 redzone_allocator.cc:318] INTERNAL: Failed to launch ptxas\n"
)
