/* Ends the process by SIGKILL at the N-th call that changes a file below a folder. Loaded with LD_PRELOAD.
 *
 * At a write half of the bytes are written first; at any other call nothing is done. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static char below[PATH_MAX];
static atomic_long calls, deadly = -1;

/* Count from now on, and kill at call number `at`; 0: never. */
void kill_at(const char *folder, long at) {
    snprintf(below, sizeof below, "%s/", folder);
    calls = 0;
    deadly = at;
}

long calls_made(void) { return calls; }

static int is_below(int folder, const char *path) {
    char place[PATH_MAX] = "", name[64];
    if (deadly < 0) return 0;
    if (path && path[0] == '/') return strncmp(path, below, strlen(below)) == 0;
    snprintf(name, sizeof name, folder == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", folder);
    ssize_t length = readlink(name, place, sizeof place - 2);
    if (length < 0) return 0;
    place[length] = '/';
    return strncmp(place, below, strlen(below)) == 0;
}

static int dies(int folder, const char *path) {
    return is_below(folder, path) && atomic_fetch_add(&calls, 1) + 1 == deadly;
}

static void die(void) { kill(getpid(), SIGKILL); }

#define REAL(name) __typeof__(&name) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)
#define CALL(kind, name, parameters, arguments, folder, path) \
    kind name parameters { REAL(name); if (dies(folder, path)) die(); return real arguments; }
#define WRITE(kind, name, parameters, arguments, half) \
    kind name parameters { REAL(name); if (dies(file, NULL)) { half; die(); } return real arguments; }
#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        REAL(name); va_list rest; va_start(rest, flags); mode_t mode = va_arg(rest, mode_t); va_end(rest); \
        if ((flags & (O_CREAT | O_TRUNC)) && dies(AT_FDCWD, path)) die(); \
        return real(path, flags, mode); }
#define OPENAT(name) \
    int name(int folder, const char *path, int flags, ...) { \
        REAL(name); va_list rest; va_start(rest, flags); mode_t mode = va_arg(rest, mode_t); va_end(rest); \
        if ((flags & (O_CREAT | O_TRUNC)) && dies(folder, path)) die(); \
        return real(folder, path, flags, mode); }

OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)
WRITE(ssize_t, write, (int file, const void *data, size_t size), (file, data, size), real(file, data, size / 2))
WRITE(ssize_t, pwrite, (int file, const void *data, size_t size, off_t at), (file, data, size, at),
      real(file, data, size / 2, at))
WRITE(ssize_t, pwrite64, (int file, const void *data, size_t size, off64_t at), (file, data, size, at),
      real(file, data, size / 2, at))
WRITE(ssize_t, writev, (int file, const struct iovec *parts, int count), (file, parts, count),
      real(file, parts, count / 2))
WRITE(int, ftruncate, (int file, off_t size), (file, size), )
WRITE(int, ftruncate64, (int file, off64_t size), (file, size), )
CALL(int, truncate, (const char *path, off_t size), (path, size), AT_FDCWD, path)
CALL(int, rename, (const char *from, const char *to), (from, to), AT_FDCWD, to)
CALL(int, renameat, (int folder, const char *from, int other, const char *to), (folder, from, other, to), other, to)
CALL(int, renameat2, (int folder, const char *from, int other, const char *to, unsigned int flags),
     (folder, from, other, to, flags), other, to)
CALL(int, unlink, (const char *path), (path), AT_FDCWD, path)
CALL(int, unlinkat, (int folder, const char *path, int flags), (folder, path, flags), folder, path)
CALL(int, rmdir, (const char *path), (path), AT_FDCWD, path)
CALL(int, mkdir, (const char *path, mode_t mode), (path, mode), AT_FDCWD, path)
CALL(int, mkdirat, (int folder, const char *path, mode_t mode), (folder, path, mode), folder, path)
CALL(int, link, (const char *from, const char *to), (from, to), AT_FDCWD, to)
CALL(int, symlink, (const char *from, const char *to), (from, to), AT_FDCWD, to)
CALL(int, chmod, (const char *path, mode_t mode), (path, mode), AT_FDCWD, path)
