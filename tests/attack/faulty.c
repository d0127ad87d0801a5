/* Makes the n-th call of a kind fail, as SQLite's own tests do, or disturbs it in another way. Loaded with LD_PRELOAD.
   Does nothing until `fault_arm` is called or TUILAB_FAULT is set. Affects only files in one folder. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

/* Alternatives to an errno: kill the process; write only half; truncate the file, or extend it, before the read. */
enum { KILLED = -1, HALF = -2, CUT = -3, GROWN = -4 };

static char armed[16], place[PATH_MAX];
static long at, times, counted, *seen = &counted;
static int error;

/* Start counting calls. kind: read, write, sync, rename, open, make, remove, lock or map. from: number of the first
   call that fails, counted from 1. how_often: number of calls that fail. number: an errno, or KILLED, HALF, CUT or
   GROWN. below: only files whose path starts with this text are affected. */
void fault_arm(const char *kind, long from, long how_often, int number, const char *below) {
    strncpy(place, below, sizeof place - 1);
    at = from, times = how_often, error = number, *seen = 0;
    strncpy(armed, kind, sizeof armed - 1);
}

long fault_seen(void) { return *seen; }

/* Read the fault of a new process from TUILAB_FAULT: `kind from how_often number place`. Count its calls in the file
   TUILAB_FAULT_SEEN. */
__attribute__((constructor)) static void begin(void) {
    const char *told = getenv("TUILAB_FAULT"), *file = getenv("TUILAB_FAULT_SEEN");
    char kind[16], below[PATH_MAX];
    long from, how_often;
    int number;
    if (!told || !file || sscanf(told, "%15s %ld %ld %d %4095s", kind, &from, &how_often, &number, below) != 5) return;
    int fd = open(file, O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, sizeof *seen)) return;
    void *shared = mmap(NULL, sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (shared != MAP_FAILED) seen = shared;
    fault_arm(kind, from, how_often, number, below);
}

static void changed(const char *path) {
    struct stat found;
    char kept = armed[0];
    armed[0] = 0;
    int fd = open(path, O_WRONLY);
    if (fd >= 0 && !fstat(fd, &found)) {
        if (error == CUT && ftruncate(fd, found.st_size / 2)) errno = 0;
        for (int line = 0; error == GROWN && line < 1000; line++)
            if (pwrite(fd, "x = x @ x\n", 10, found.st_size + 10 * line) < 0) break;
        close(fd);
    }
    armed[0] = kept;
}

static int fails(const char *kind, const char *path) {
    if (!armed[0] || strcmp(kind, armed) || strncmp(path, place, strlen(place))) return 0;
    long now = __sync_add_and_fetch(seen, 1);
    if (now < at || now >= at + times) return 0;
    if (error == KILLED) kill(getpid(), SIGKILL);
    if (error == CUT || error == GROWN) {
        int before = errno;
        changed(path);
        errno = before;
        return 0;
    }
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

/* half: the same call with half of the data. */
#define OF_FD(kind, type, name, parameters, half, ...)                   \
    type name parameters {                                               \
        static type(*real) parameters;                                   \
        if (!real) real = (type(*) parameters)dlsym(RTLD_NEXT, #name);   \
        if (!fails_of(kind, fd)) return real(__VA_ARGS__);               \
        return error == HALF ? half : -1;                                \
    }

#define PART (size > 1 ? size / 2 : size)

OF_FD("read", ssize_t, read, (int fd, void *data, size_t size), 0, fd, data, size)
OF_FD("read", ssize_t, pread, (int fd, void *data, size_t size, off_t from), 0, fd, data, size, from)
OF_FD("read", ssize_t, pread64, (int fd, void *data, size_t size, off64_t from), 0, fd, data, size, from)
OF_FD("write", ssize_t, write, (int fd, const void *data, size_t size), real(fd, data, PART), fd, data, size)
OF_FD("write", ssize_t, writev, (int fd, const struct iovec *data, int count), real(fd, data, 1), fd, data, count)
OF_FD("write", ssize_t, pwrite, (int fd, const void *data, size_t size, off_t from), real(fd, data, PART, from), fd, data,
      size, from)
OF_FD("write", ssize_t, pwrite64, (int fd, const void *data, size_t size, off64_t from), real(fd, data, PART, from), fd,
      data, size, from)
OF_FD("write", int, ftruncate, (int fd, off_t size), real(fd, size), fd, size)
OF_FD("write", int, ftruncate64, (int fd, off64_t size), real(fd, size), fd, size)
OF_FD("sync", int, fsync, (int fd), real(fd), fd)
OF_FD("sync", int, fdatasync, (int fd), real(fd), fd)

#define OF_PATH(kind, name, parameters, path, ...)                       \
    int name parameters {                                                \
        static int(*real) parameters;                                    \
        if (!real) real = (int(*) parameters)dlsym(RTLD_NEXT, #name);    \
        return fails(kind, path) ? -1 : real(__VA_ARGS__);               \
    }

OF_PATH("rename", rename, (const char *from, const char *to), to, from, to)
OF_PATH("rename", renameat, (int a, const char *from, int b, const char *to), to, a, from, b, to)
OF_PATH("make", mkdir, (const char *path, mode_t mode), path, path, mode)
OF_PATH("make", mkdirat, (int at, const char *path, mode_t mode), path, at, path, mode)
OF_PATH("remove", unlink, (const char *path), path, path)
OF_PATH("remove", unlinkat, (int at, const char *path, int flags), path, at, path, flags)
OF_PATH("remove", rmdir, (const char *path), path, path)

/* The mode is present only if the file may be created. */
#define OF_OPEN(name, parameters, ...)                                                    \
    int name parameters {                                                                 \
        static int (*real)();                                                             \
        if (!real) real = (int (*)())dlsym(RTLD_NEXT, #name);                             \
        va_list more;                                                                     \
        va_start(more, flags);                                                            \
        int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, int) : 0;                 \
        va_end(more);                                                                     \
        return fails("open", path) ? -1 : real(__VA_ARGS__, flags, mode);                 \
    }

OF_OPEN(open, (const char *path, int flags, ...), path)
OF_OPEN(open64, (const char *path, int flags, ...), path)
OF_OPEN(openat, (int at, const char *path, int flags, ...), at, path)
OF_OPEN(openat64, (int at, const char *path, int flags, ...), at, path)

#define OF_LOCK(name)                                                                     \
    int name(int fd, int command, ...) {                                                  \
        static int (*real)();                                                             \
        if (!real) real = (int (*)())dlsym(RTLD_NEXT, #name);                             \
        va_list more;                                                                     \
        va_start(more, command);                                                          \
        void *given = va_arg(more, void *);                                               \
        va_end(more);                                                                     \
        int locks = command == F_SETLK || command == F_SETLKW || command == F_GETLK;      \
        return locks && fails_of("lock", fd) ? -1 : real(fd, command, given);             \
    }

OF_LOCK(fcntl)
OF_LOCK(fcntl64)
OF_FD("lock", int, flock, (int fd, int what), real(fd, what), fd, what)

#define OF_MAP(name, offset)                                                              \
    void *name(void *at, size_t size, int may, int flags, int fd, offset from) {          \
        static void *(*real)(void *, size_t, int, int, int, offset);                      \
        if (!real) real = (void *(*)(void *, size_t, int, int, int, offset))dlsym(RTLD_NEXT, #name); \
        if (fd >= 0 && fails_of("map", fd)) return MAP_FAILED;                            \
        return real(at, size, may, flags, fd, from);                                      \
    }

OF_MAP(mmap, off_t)
OF_MAP(mmap64, off64_t)
