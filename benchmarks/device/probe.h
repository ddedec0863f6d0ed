/*
 * What the parts of the probe share: the driver's calls, found at run time; checks that leave the
 * current fact with the driver's name of the error; messages between the two processes.
 *
 * A section is one group of facts. Its failure, a fault and a peer that does not answer end the
 * section and nothing else.
 */
#ifndef TOWPATH_DEVICE_PROBE_H
#define TOWPATH_DEVICE_PROBE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "probe_calls.h"

#include <cuda.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef unsigned long long word;

/* The driver; a call that it lacks is null. */
struct driver {
#define MEMBER(name) __typeof__(name) *name;
    CALLS(MEMBER)
#undef MEMBER
};
extern struct driver cu;

enum kernel { NOTHING, RAISE_FLAG, WORK, FILL, COMPARE, STRIDED, KERNELS };

/* What every section needs, made once in each process. */
struct setting {
    const char *who; /* "parent" or "child" */
    const char *kernels_file;
    char **ptx_files;
    int ptx_number;
    CUcontext context;
    CUstream stream;
    CUmodule module;
    CUfunction kernels[KERNELS];
    volatile unsigned *flags; /* mapped pinned memory, one page */
    CUdeviceptr flags_device;
    CUdeviceptr scratch; /* device, one page */
};
extern struct setting own;

/* Memory that both processes map. */
struct shared {
    volatile unsigned turn, stop;
    volatile word stamp; /* nanoseconds of CLOCK_MONOTONIC */
};
extern struct shared *shared;

/* Where a section is left, and why. */
extern sigjmp_buf leave_section;
enum { SECTION_FAILED = 1, SECTION_GIVEN_UP };
extern const char *fact; /* the name under which a failure is reported */

/* Prints "name value unit" and flushes. */
void report(const char *name, double value, const char *unit);
void report_text(const char *name, const char *text);
/* Reports, as microseconds, how long something takes for so many bytes. */
void report_bytes(const char *name, size_t bytes, double nanoseconds);
/* Reports "fact error ..." and leaves the section. */
void fail(const char *text) __attribute__((noreturn));
const char *error_name(CUresult result);
double now(void); /* nanoseconds */
double median(double *values, int number);

void open_driver(void);
/* Initializes the driver and its primary context, loads the kernels and makes a stream. */
void set_up(void);
void launch(enum kernel kernel, unsigned blocks, unsigned threads, void **arguments);
void synchronize(void);
void fill(CUdeviceptr to, size_t bytes, word seed);
word wrong_words(CUdeviceptr from, size_t bytes, word seed);
/* Loads a PTX text or machine code; null when the file cannot be read. */
char *read_file(const char *path);

/* The result of a call, or CUDA_ERROR_NOT_FOUND if the driver lacks it. */
#define RESULT(name, ...) (cu.name ? cu.name(__VA_ARGS__) : CUDA_ERROR_NOT_FOUND)
/* The call, or the end of the section. */
#define CALL(name, ...)                                                                            \
    do {                                                                                           \
        CUresult result_ = RESULT(name, __VA_ARGS__);                                              \
        if (result_)                                                                               \
            fail_call(#name, result_);                                                             \
    } while (0)
void fail_call(const char *call, CUresult result) __attribute__((noreturn));
/* Reports how a call that may be refused ended: "allowed" or the error. */
#define OUTCOME(fact_name, name, ...) report_text(fact_name, error_name(RESULT(name, __VA_ARGS__)))

/* Median nanoseconds of a statement over `samples` samples of `inner` runs each, after one more. */
#define NANOSECONDS(samples, inner, statement)                                                     \
    ({                                                                                             \
        double values_[samples];                                                                   \
        for (int sample_ = -1; sample_ < (samples); sample_++) {                                   \
            double started_ = now();                                                               \
            for (int inner_ = 0; inner_ < (inner); inner_++) {                                     \
                statement;                                                                         \
            }                                                                                      \
            values_[sample_ < 0 ? 0 : sample_] = (now() - started_) / (inner);                     \
        }                                                                                          \
        median(values_, samples);                                                                  \
    })

/* Messages between parent and child. One of another section is stale and is dropped. */
struct message {
    int section, kind;
    word value;
    char data[128];
};
enum { START, FAILED, READY, HERE, DONE };
enum { NEXT_SECTION = 1, LAST_SECTION }; /* values of START */
extern int channel, section;
/* A START that came while the child was in an earlier section; its value is 0 if there is none. */
extern struct message pending;
void say(int kind, word value, const void *data, size_t size, int descriptor);
/* Waits for the next message of this section, 10 s at most; a failed peer ends the section. The
 * descriptor that came along goes to `descriptor`, if that is not null. */
struct message hear(int kind, int *descriptor);
/* Waits until the shared turn has this value, 3 s at most. */
void wait_turn(unsigned value);

/* The sections. Those of one process run in the parent. */
void facts_of_system(void);
void facts_of_device(void);
void facts_of_modules(void);
void facts_of_pointers(void);
void facts_of_launches(void);
void facts_of_copies(void);
void facts_of_strides(void);
void facts_of_identity(void);
void facts_of_allocators(void);
/* Those of two run in both, with the same section number. */
struct pair_section {
    const char *name;
    void (*parent)(void), (*child)(void);
};
extern const struct pair_section pair_sections[];
extern const int pair_section_number;

#endif
