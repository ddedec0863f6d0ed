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

unsigned long towpath_stub_calls(const char *name);
unsigned long towpath_stub_bytes(int direction);

/* checks.c: the primary context of device 0, current. */
CUcontext start(void);
/* Whether the processor may read the byte. */
bool readable(const void *address);
/* PTX text that defines an entry. */
const char *ptx(const char *entry);

struct check {
    const char *name;
    void (*run)(void);
};
extern const struct check memory_checks[], stream_checks[], process_checks[], kernel_checks[];

#endif
