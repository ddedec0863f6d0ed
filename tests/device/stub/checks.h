/* What the checks of the stub share: each check is a function, run in a process of its own. */
#ifndef STUB_CHECKS_H
#define STUB_CHECKS_H

#include "driver.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("%s:%d: %s\n", __FILE__, __LINE__, #condition);                                 \
            fflush(stdout);                                                                        \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)
#define GIVES(error, call)                                                                         \
    do {                                                                                           \
        CUresult given = call;                                                                     \
        if (given != (error)) {                                                                    \
            printf("%s:%d: %s gives %d, expected %s\n", __FILE__, __LINE__, #call, given, #error); \
            fflush(stdout);                                                                        \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)
#define WORKS(call) GIVES(CUDA_SUCCESS, call)

/* Absent in a real driver. */
unsigned long towpath_stub_calls(const char *name) __attribute__((weak));
unsigned long towpath_stub_bytes(int direction) __attribute__((weak));

/* checks.c: the primary context of device 0, current. */
CUcontext start(void);
/* Whether the processor may read the byte. */
bool readable(const void *address);
/* PTX text that defines an entry, or the text in the file TOWPATH_CHECK_PTX. */
const char *ptx(const char *entry);

/* Starts a second process, before the driver starts in this one; the result is 1 there. */
int two_processes(void);
/* To and from the other process: a message, or an open file. */
void put(const void *data, size_t size);
void get(void *data, size_t size);
void put_file(int file);
int get_file(void);
/* Ends the second process; the first one checks how it ended. */
void both_end(int side);
/* A byte in many places of device memory, and one byte of it. */
void fill(CUdeviceptr address, char value, size_t size);
char byte_at(CUdeviceptr address);

struct check {
    const char *name;
    void (*run)(void);
};
extern const struct check memory_checks[], stream_checks[], process_checks[], kernel_checks[],
    export_checks[];

#endif
