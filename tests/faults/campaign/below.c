/* Stands below a process and its children, between them and the system: lets disks fill up, files be slow, the clock
   jump, and remembers what was flushed, so that a power cut can be played. What it does is said by a block of shared
   memory (struct control); BELOW_CONTROL names its file. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

struct control {
    int32_t write_error;   /* errno of every write below the prefix, 0 for none */
    int32_t create_error;  /* errno of whatever makes or renames a file there */
    int32_t delay_micros;  /* how long each write and flush takes */
    int32_t keeps_flushed; /* whether flushed files are copied to the shadow folder */
    int64_t clock_seconds; /* how far the clock is off */
    int64_t num_hits;      /* how often an error was given */
    char prefix[1024];
    char shadow[1024];
};

static struct control *control;

__attribute__((constructor)) static void load(void) {
    const char *name = getenv("BELOW_CONTROL");
    if (name == NULL) return;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, name, O_RDWR, 0);
    if (fd < 0) return;
    void *memory = mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory != MAP_FAILED) control = memory;
    close(fd);
}

#define REAL(name) \
    static __typeof__(&name) real; \
    if (real == NULL) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

static int is_below(const char *path) {
    return control != NULL && control->prefix[0] != 0 && path != NULL &&
           strncmp(path, control->prefix, strlen(control->prefix)) == 0;
}

static int path_of(int fd, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return 1;
}

static int refuses(int error) {
    if (error == 0) return 0;
    __atomic_add_fetch(&control->num_hits, 1, __ATOMIC_SEQ_CST);
    errno = error;
    return 1;
}

static int refuses_write(int fd) {
    char path[PATH_MAX];
    if (control == NULL || (control->write_error == 0 && control->delay_micros == 0)) return 0;
    if (!path_of(fd, path) || !is_below(path)) return 0;
    if (control->delay_micros > 0) usleep((useconds_t)control->delay_micros);
    return refuses(control->write_error);
}

static int refuses_create(const char *path) { return is_below(path) && refuses(control->create_error); }

ssize_t write(int fd, const void *data, size_t size) {
    REAL(write);
    return refuses_write(fd) ? -1 : real(fd, data, size);
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset) {
    REAL(pwrite64);
    return refuses_write(fd) ? -1 : real(fd, data, size, offset);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    REAL(writev);
    return refuses_write(fd) ? -1 : real(fd, parts, count);
}

#define MODE(flags) \
    mode_t mode = 0; \
    if ((flags) & (O_CREAT | O_TMPFILE)) { \
        va_list rest; \
        va_start(rest, flags); \
        mode = va_arg(rest, mode_t); \
        va_end(rest); \
    }

int open(const char *path, int flags, ...) {
    MODE(flags)
    REAL(open);
    return (flags & O_CREAT) && refuses_create(path) ? -1 : real(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    MODE(flags)
    REAL(open64);
    return (flags & O_CREAT) && refuses_create(path) ? -1 : real(path, flags, mode);
}

int rename(const char *from, const char *to) {
    REAL(rename);
    return refuses_create(to) ? -1 : real(from, to);
}

int mkdir(const char *path, mode_t mode) {
    REAL(mkdir);
    return refuses_create(path) ? -1 : real(path, mode);
}

static void keep_file(int fd, const char *shadow) {
    char part[PATH_MAX + 32], data[65536];
    snprintf(part, sizeof part, "%s.%d.new", shadow, (int)getpid());
    int out = creat(part, 0600);
    off64_t offset = 0;
    for (ssize_t count; (count = pread64(fd, data, sizeof data, offset)) > 0; offset += count)
        if (write(out, data, (size_t)count) != count) break;
    close(out);
    rename(part, shadow);
}

static void keep_folder(const char *path, const char *shadow) {
    char part[PATH_MAX + 32];
    snprintf(part, sizeof part, "%s.%d.new", shadow, (int)getpid());
    FILE *out = fopen(part, "w");
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;)
        fprintf(out, "%lu %s\n", (unsigned long)entry->d_ino, entry->d_name);
    if (folder != NULL) closedir(folder);
    fclose(out);
    rename(part, shadow);
}

static void keep(int fd) {
    char path[PATH_MAX], shadow[PATH_MAX];
    struct stat status;
    if (control == NULL || !control->keeps_flushed || !path_of(fd, path) || !is_below(path)) return;
    if (fstat(fd, &status) != 0) return;
    snprintf(shadow, sizeof shadow, "%s/%lu", control->shadow, (unsigned long)status.st_ino);
    if (S_ISDIR(status.st_mode)) keep_folder(path, shadow);
    else {
        /* A file that is open for writing only cannot be read by its descriptor. */
        int in = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY, 0);
        if (in >= 0) {
            keep_file(in, shadow);
            close(in);
        }
    }
}

int fsync(int fd) {
    REAL(fsync);
    if (refuses_write(fd)) return -1;
    int result = real(fd);
    keep(fd);
    return result;
}

int fdatasync(int fd) {
    REAL(fdatasync);
    if (refuses_write(fd)) return -1;
    int result = real(fd);
    keep(fd);
    return result;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    REAL(clock_gettime);
    int result = real(clock, now);
    if (control != NULL && clock == CLOCK_REALTIME) now->tv_sec += control->clock_seconds;
    return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    REAL(gettimeofday);
    int result = real(now, zone);
    if (control != NULL) now->tv_sec += control->clock_seconds;
    return result;
}

time_t time(time_t *result) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (result != NULL) *result = now.tv_sec;
    return now.tv_sec;
}
