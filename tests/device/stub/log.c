/* The log of a process: TOWPATH_STUB_LOG=FILE writes calls and bytes to FILE.PID at its end. */
#define _GNU_SOURCE
#include "stub.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static atomic_ulong moved[DIRECTIONS];
static const char *const directions[DIRECTIONS] = {
    "bytes_host_to_device", "bytes_device_to_host", "bytes_device_to_device",
    "bytes_host_to_host", "bytes_by_kernels",
};

void count_bytes(enum direction direction, uint64_t bytes) { moved[direction] += bytes; }

/* For tests: bytes moved so far, by the names of the log. */
__attribute__((visibility("default"))) unsigned long towpath_stub_bytes(int direction)
{
    return direction >= 0 && direction < DIRECTIONS ? moved[direction] : 0;
}

static void tell_call(const char *name, unsigned long calls, void *file)
{
    fprintf(file, "%s %lu\n", name, calls);
}

void write_log(void)
{
    const char *prefix = getenv("TOWPATH_STUB_LOG");
    char *path = NULL;
    if (!prefix || !*prefix || asprintf(&path, "%s.%d", prefix, getpid()) < 0) return;
    FILE *file = fopen(path, "w");
    if (file) {
        each_call(tell_call, file);
        for (int direction = 0; direction < DIRECTIONS; direction++)
            fprintf(file, "%s %lu\n", directions[direction], moved[direction]);
        fclose(file);
    } else {
        fprintf(stderr, "the stub driver cannot write its log %s\n", path);
    }
    free(path);
}
