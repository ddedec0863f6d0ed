/*
 * The ways to send a part of device memory: one call with a datatype, the manual copies that
 * programs use where MPI knows no device memory, and a kernel of the user.
 */
#ifndef TOWPATH_BENCHMARKS_DEVICE_METHODS_H
#define TOWPATH_BENCHMARKS_DEVICE_METHODS_H

#include "device.h"
#include "kernels.h"

/* What is sent, of `out`, and received, into `in`, both device memory of `extent` bytes: blocks, or
 * the doubles that a list names. */
struct message {
    const char *name;
    size_t bytes, extent;
    struct blocks blocks;
    size_t listed; /* doubles of the list; 0 if these are blocks */
    unsigned *list, *device_list;
    MPI_Datatype datatype; /* committed */
    char *in, *out;
    /* Of the packed size: one on the device and one pinned. */
    char *packed, *host;
};

/* Room for messages, of which each needs at most this. */
void make_room(struct message *message, size_t extent, size_t bytes);
void free_room(struct message *message);

enum method { DATATYPE, MANUAL, KERNEL };
enum { METHODS = KERNEL + 1 };
extern const char *const method_names[];

/* Checks the method with fresh data, measures it, checks it again, and prints its row. The result
 * in microseconds; 0 if a check failed. Collective. */
double measure(struct message *message, enum method method, double seconds);
/* The time of one copy from `out`'s layout to `in`'s, on one GPU by one kernel: a row
 * "strided_copy" with its launch and synchronization and a row "strided_kernel" without. Rank 0
 * measures. */
void measure_copy(struct message *message, double seconds);

#endif
