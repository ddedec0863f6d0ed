/*
 * How fast a row of bytes is copied, by the distance of its ends modulo 4096: some processors are twenty times slower where the target
 * lies a few bytes behind the source (see crates/base/src/copy.rs).
 *
 *     cc -O2 benchmarks/copies.c -o copies && ./copies
 *
 * GB/s, best of nine batches: the processor's `rep movsb`, which the system uses between a program and its sockets; the C library;
 * and the C library by pieces of 2 KiB.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PAGE = 4096, LARGEST = 1 << 20, BATCH = 4 << 20, BATCHES = 9, PIECE = 2048 };

/* The library's, whatever a compiler makes of a constant length. */
static void *(*volatile library)(void *, const void *, size_t) = memcpy;

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void by_instruction(char *to, const char *from, size_t length)
{
#if defined(__x86_64__)
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(length) : : "memory");
#else
    memcpy(to, from, length);
#endif
}

static void by_library(char *to, const char *from, size_t length)
{
    library(to, from, length);
}

static void by_pieces(char *to, const char *from, size_t length)
{
    for (size_t at = 0; at < length; at += PIECE)
        library(to + at, from + at, length - at < PIECE ? length - at : PIECE);
}

static double speed(void (*copy)(char *, const char *, size_t), char *to, const char *from, size_t length)
{
    double best = 1e9;
    for (int batch = 0; batch < BATCHES; batch++) {
        size_t rounds = BATCH / length;
        double started = seconds();
        for (size_t round = 0; round < rounds; round++)
            copy(to, from, length);
        double one = (seconds() - started) / (double)rounds;
        best = one < best ? one : best;
    }
    return (double)length / best * 1e-9;
}

int main(void)
{
    static const size_t lengths[] = {4096, 16384, 65536, LARGEST};
    static const int distances[] = {-8, 0, 1, 8, 15, 16, 24, 48, 64, 256, 2048};
    char *from = aligned_alloc(PAGE, LARGEST + 2 * PAGE), *to = aligned_alloc(PAGE, LARGEST + 2 * PAGE);
    if (!from || !to)
        return 1;
    memset(from, 1, LARGEST + 2 * PAGE);
    memset(to, 2, LARGEST + 2 * PAGE);
    printf("bytes distance rep-movsb library pieces\n");
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (size_t j = 0; j < sizeof distances / sizeof *distances; j++) {
            char *source = from + 64, *target = to + 64 + distances[j];
            printf("%zu %d %.1f %.1f %.1f\n", lengths[i], distances[j], speed(by_instruction, target, source, lengths[i]),
                   speed(by_library, target, source, lengths[i]), speed(by_pieces, target, source, lengths[i]));
        }
    return 0;
}
