/*
 * Preloaded into DataNodes by benches/late-reads/drive.py: each read access to a file below the
 * directory named in the file SLOW_DISK takes SLOW_MILLIS. Non-blocking reads (RWF_NOWAIT) find
 * nothing in memory then.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static int is_slow(int fd) {
    const char *name = getenv("SLOW_DISK");
    char link[64], disk[PATH_MAX], path[PATH_MAX];
    int said = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
    if (said < 0)
        return 0;
    ssize_t length = read(said, disk, sizeof disk);
    close(said);
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    return length > 0 && readlink(link, path, sizeof path) > length
        && memcmp(path, disk, (size_t)length) == 0;
}

static void wait_for(int fd) {
    const char *millis = getenv("SLOW_MILLIS");
    long ms = millis ? atol(millis) : 0;
    struct timespec left = {ms / 1000, ms % 1000 * 1000000};
    if (is_slow(fd))
        while (nanosleep(&left, &left) != 0 && errno == EINTR) {
        }
}

ssize_t pread64(int fd, void *buffer, size_t count, off64_t offset) {
    static ssize_t (*next)(int, void *, size_t, off64_t);
    if (!next)
        next = (ssize_t (*)(int, void *, size_t, off64_t))dlsym(RTLD_NEXT, "pread64");
    wait_for(fd);
    return next(fd, buffer, count, offset);
}

ssize_t pread(int fd, void *buffer, size_t count, off_t offset) {
    return pread64(fd, buffer, count, offset);
}

ssize_t preadv2(int fd, const struct iovec *parts, int count, off_t offset, int flags) {
    static ssize_t (*next)(int, const struct iovec *, int, off_t, int);
    if (!next)
        next = (ssize_t (*)(int, const struct iovec *, int, off_t, int))dlsym(RTLD_NEXT, "preadv2");
    if ((flags & RWF_NOWAIT) && is_slow(fd)) {
        errno = EAGAIN;
        return -1;
    }
    wait_for(fd);
    return next(fd, parts, count, offset, flags);
}
