/* The n-th call of a kind fails, as SQLite's own tests have it. Loaded before all else (LD_PRELOAD), and at rest until
   `fault_arm` is called. Only files below a place count. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static char armed[16], place[PATH_MAX];
static long at, times, seen;
static int error;

/* kind: read, write, sync or rename. from: the number of the first call that fails, from 1 on. how_often: how many
   fail. The calls are counted from here on. */
void fault_arm(const char *kind, long from, long how_often, int number, const char *below) {
    strncpy(place, below, sizeof place - 1);
    at = from, times = how_often, error = number, seen = 0;
    strncpy(armed, kind, sizeof armed - 1);
}

long fault_seen(void) { return seen; }

static int fails(const char *kind, const char *path) {
    if (!armed[0] || strcmp(kind, armed) || strncmp(path, place, strlen(place))) return 0;
    long now = __sync_add_and_fetch(&seen, 1);
    if (now < at || now >= at + times) return 0;
    errno = error;
    return 1;
}

static int fails_of(const char *kind, int fd) {
    char link[64], path[PATH_MAX];
    if (!armed[0] || strcmp(kind, armed)) return 0;
    int before = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, path, sizeof path - 1);
    errno = before;
    if (size < 0) return 0;
    path[size] = 0;
    return fails(kind, path);
}

#define OF_FD(kind, type, name, parameters, ...)                         \
    type name parameters {                                               \
        static type(*real) parameters;                                   \
        if (!real) real = (type(*) parameters)dlsym(RTLD_NEXT, #name);   \
        return fails_of(kind, fd) ? -1 : real(__VA_ARGS__);              \
    }

OF_FD("read", ssize_t, read, (int fd, void *data, size_t size), fd, data, size)
OF_FD("read", ssize_t, pread, (int fd, void *data, size_t size, off_t from), fd, data, size, from)
OF_FD("read", ssize_t, pread64, (int fd, void *data, size_t size, off64_t from), fd, data, size, from)
OF_FD("write", ssize_t, write, (int fd, const void *data, size_t size), fd, data, size)
OF_FD("write", ssize_t, writev, (int fd, const struct iovec *data, int count), fd, data, count)
OF_FD("write", ssize_t, pwrite, (int fd, const void *data, size_t size, off_t from), fd, data, size, from)
OF_FD("write", ssize_t, pwrite64, (int fd, const void *data, size_t size, off64_t from), fd, data, size, from)
OF_FD("write", int, ftruncate, (int fd, off_t size), fd, size)
OF_FD("write", int, ftruncate64, (int fd, off64_t size), fd, size)
OF_FD("sync", int, fsync, (int fd), fd)
OF_FD("sync", int, fdatasync, (int fd), fd)

#define OF_PATH(name, parameters, path, ...)                             \
    int name parameters {                                                \
        static int(*real) parameters;                                    \
        if (!real) real = (int(*) parameters)dlsym(RTLD_NEXT, #name);    \
        return fails("rename", path) ? -1 : real(__VA_ARGS__);           \
    }

OF_PATH(rename, (const char *from, const char *to), to, from, to)
OF_PATH(renameat, (int a, const char *from, int b, const char *to), to, a, from, b, to)
