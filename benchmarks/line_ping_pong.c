/*
 * The machine's own speed of the moment: half of a round trip of one cache line between two threads
 * on the first two cores, in nanoseconds.
 *
 *     line_ping_pong [MILLISECONDS]
 *
 * Small virtual machines have several speeds and change between them within seconds; every run of the
 * table records this figure before and after it. It is the median of many short batches, so that it
 * says what held for most of the time.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 500, MOST_BATCHES = 100000, STOP = -2 };

static _Alignas(128) volatile int line;

/* On a core of those that the process may use; one core alone is shared by both threads. */
static void run_on(int wanted)
{
    cpu_set_t allowed, one;
    sched_getaffinity(0, sizeof allowed, &allowed);
    for (int core = 0, seen = 0; core < CPU_SETSIZE; core++)
        if (CPU_ISSET((unsigned)core, &allowed) && seen++ == wanted) {
            CPU_ZERO(&one);
            CPU_SET((unsigned)core, &one);
            sched_setaffinity(0, sizeof one, &one);
            return;
        }
}

/* Answers every odd number with the next one. */
static void *answer(void *unused)
{
    (void)unused;
    run_on(1);
    for (int seen; (seen = line) != STOP;) {
        if (seen % 2)
            line = seen + 1;
        else
            __builtin_ia32_pause();
    }
    return NULL;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double batch(void)
{
    double started = now();
    for (int i = 0; i < ROUNDS; i++) {
        int asked = 2 * i + 1;
        line = asked;
        while (line == asked)
            __builtin_ia32_pause();
    }
    return (now() - started) / ROUNDS / 2;
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

int main(int argc, char **argv)
{
    static double found[MOST_BATCHES];
    double milliseconds = argc > 1 ? atof(argv[1]) : 20;
    int batches = 0;
    pthread_t thread;
    pthread_create(&thread, NULL, answer, NULL);
    run_on(0);
    batch();
    for (double end = now() + milliseconds / 1e3; batches < 1 || (now() < end && batches < MOST_BATCHES);)
        found[batches++] = batch();
    line = STOP;
    pthread_join(thread, NULL);
    qsort(found, (size_t)batches, sizeof *found, by_value);
    printf("%.1f\n", found[batches / 2] * 1e9);
    return 0;
}
