/* A driver without a GPU. Environment variables (defaults in parentheses) set the result of each call. Also serves as
libnvidia-ml and libcudart.

STUB_CUINIT      result of cuInit (0)
STUB_COUNT       number of devices (1)
STUB_CAPABILITY  compute capability times ten (89)
STUB_CUDA        version from cuDriverGetVersion (12080)
STUB_COMM        1: cuInit names its thread, and returns 304 if it cannot
STUB_HANG        the name of a call that never returns
STUB_CRASH       the name of a call that kills the process
STUB_CONTEXT     result of cudaSetDevice, which creates the context (3: initialization error)
STUB_REFUSED     with LD_PRELOAD: opening a file whose path contains this fails with STUB_ERRNO
CUDA_VISIBLE_DEVICES empty or negative: cuInit returns NO_DEVICE, as the real driver does. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int number(const char *name, int otherwise) {
  const char *text = getenv(name);
  return text ? atoi(text) : otherwise;
}

static void enter(const char *call) {
  const char *hang = getenv("STUB_HANG"), *crash = getenv("STUB_CRASH");
  if (crash && !strcmp(crash, call)) abort();
  while (hang && !strcmp(hang, call)) pause();
}

static int opened(const char *path, int flags, int mode);

static int hidden(void) {
  const char *visible = getenv("CUDA_VISIBLE_DEVICES");
  return visible && (!*visible || *visible == '-' || atoi(visible) >= number("STUB_COUNT", 1));
}

int cuInit(unsigned flags) {
  enter("cuInit");
  int code = number("STUB_CUINIT", 0);
  if (number("STUB_COMM", 0)) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%ld/comm", syscall(SYS_gettid));
    int comm = opened(path, O_WRONLY, 0);
    if (comm < 0) return 304;
    close(comm);
  }
  return code ? code : hidden() ? 100 : 0;
}
int cuDeviceGetCount(int *count) { enter("cuDeviceGetCount"); *count = number("STUB_COUNT", 1); return 0; }
int cuDriverGetVersion(int *version) { *version = number("STUB_CUDA", 12080); return 0; }
int cuGetErrorName(int code, const char **text) {
  switch (code) {
    case 100: *text = "CUDA_ERROR_NO_DEVICE"; return 0;
    case 803: *text = "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"; return 0;
    case 804: *text = "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE"; return 0;
    case 999: *text = "CUDA_ERROR_UNKNOWN"; return 0;
  }
  return 1;
}
int cuGetErrorString(int code, const char **text) { *text = "said by the stub"; return 0; }
int cuDeviceGet(int *device, int ordinal) { *device = ordinal; return 0; }
int cuDeviceGetName(char *text, int size, int device) { strncpy(text, "Stub GPU", size); return 0; }
int cuDeviceTotalMem_v2(size_t *bytes, int device) { *bytes = 8ull << 30; return 0; }
int cuDeviceGetPCIBusId(char *text, int size, int device) { strncpy(text, "0000:00:04.0", size); return 0; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
  int capability = number("STUB_CAPABILITY", 89);
  *value = attribute == 75 ? capability / 10 : attribute == 76 ? capability % 10 : 8;
  return 0;
}

/* The runtime functions that TensorFlow calls until the context is created. The error messages are those of the real runtime. */
int cudaGetDevice(int *device) { *device = 0; return 0; }
int cudaSetDevice(int device) { return number("STUB_CONTEXT", 3); }
int cudaRuntimeGetVersion(int *version) { *version = 12050; return 0; }
int cudaGetLastError(void) { return 0; }
const char *cudaGetErrorString(int code) {
  return code == 2 ? "out of memory"
         : code == 46 ? "CUDA-capable device(s) is/are busy or unavailable"
         : code == 214 ? "uncorrectable ECC error encountered"
                       : "initialization error";
}

int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }

/* Fail to open a device file, as with a cgroup, a missing permission or a dead GPU. */
static int opened(const char *path, int flags, int mode) {
  const char *refused = getenv("STUB_REFUSED");
  if (refused && strstr(path, refused)) {
    errno = number("STUB_ERRNO", EPERM);
    return -1;
  }
  return syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
int open(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  int mode = va_arg(rest, int);
  va_end(rest);
  return opened(path, flags, mode);
}
int open64(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  int mode = va_arg(rest, int);
  va_end(rest);
  return opened(path, flags, mode);
}
