/*
 * What two copies cost without any library: two processes send messages to and fro through shared
 * memory. The sender copies from its buffer into shared memory, the receiver from there into its own.
 *
 *     bare_copies latency|ordinary|streamed|still|walking@SEND/RECEIVE FIRST LAST [pin=CORE,CORE]
 *
 * Prints "name bytes microseconds", half of a round trip: the best over several sizes of the pieces
 * that the receiver may copy while the sender copies the next one, several places of the shared
 * memory relative to a page, the same bytes for each message or a walk round 2 MiB, and several
 * batches. The processes and the buffers lie as in
 * point_to_point.c: both buffers begin so many bytes behind a page.
 *
 * The sender's stores are ordinary or past the caches, whichever is quicker; `ordinary@` and
 * `streamed@` in place of `latency@` measure one of them alone; `still@` always uses the same bytes
 * of shared memory, `walking@` never does and leaves a gap between messages.
 */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "measure.h"

enum { BATCHES = 3, LINE = 128, SMALLEST_SHARED = 4096, WALK = 2 << 20, GAP = 512 };

static const double BATCH_SECONDS = 3e-4;

/* One direction: how many bytes were put into the shared memory since the beginning. */
struct direction {
    _Alignas(LINE) _Atomic unsigned long filled;
    _Alignas(LINE) char *bytes;
};

/* How many bytes are walked round, and how far each way is; both sides count alike. */
static size_t walk, places[2];

static struct direction *ways;
static char *out, *in;

typedef void (*copying)(char *to, const char *from, size_t length);

static void ordinary(char *to, const char *from, size_t length)
{
    memcpy(to, from, length);
}

/* `to` lies on a line. */
static void streamed(char *to, const char *from, size_t length)
{
#ifdef __SSE2__
    size_t whole = length / 64 * 64;
    for (size_t at = 0; at < whole; at += 16)
        _mm_stream_si128((__m128i *)(to + at), _mm_loadu_si128((const __m128i *)(from + at)));
    _mm_sfence();
    memcpy(to + whole, from + whole, length - whole);
#else
    memcpy(to, from, length);
#endif
}

static void send_message(struct direction *way, char *shared, size_t bytes, size_t piece, copying copy)
{
    unsigned long before = atomic_load_explicit(&way->filled, memory_order_relaxed);
    for (size_t at = 0; at < bytes; at += piece) {
        size_t length = bytes - at < piece ? bytes - at : piece;
        copy(shared + at, out + at, length);
        atomic_store_explicit(&way->filled, before + at + length, memory_order_release);
    }
    if (!bytes)
        atomic_store_explicit(&way->filled, before + 1, memory_order_release);
}

static void wait_for(struct direction *way, unsigned long filled)
{
    while (atomic_load_explicit(&way->filled, memory_order_acquire) < filled)
        __builtin_ia32_pause();
}

/* `before` is what this side has received so far. */
static void receive_message(struct direction *way, char *shared, size_t bytes, size_t piece, unsigned long *before)
{
    for (size_t at = 0; at < bytes; at += piece) {
        size_t length = bytes - at < piece ? bytes - at : piece;
        wait_for(way, *before + at + length);
        memcpy(in + at, shared + at, length);
    }
    if (!bytes)
        wait_for(way, *before + 1);
    *before += bytes ? bytes : 1;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Where the next message of a way lies. */
static char *next_place(int way, size_t bytes, size_t offset)
{
    size_t begin = places[way] + bytes <= walk ? places[way] : 0;
    places[way] = begin + (bytes + LINE - 1) / LINE * LINE + GAP;
    return ways[way].bytes + offset + begin;
}

/* Seconds of one way. */
static double batch(int side, size_t bytes, size_t piece, size_t offset, int rounds, unsigned long *received, copying copy)
{
    double started = now();
    for (int i = 0; i < rounds; i++) {
        if (side)
            receive_message(&ways[!side], next_place(!side, bytes, offset), bytes, piece, received);
        send_message(&ways[side], next_place(side, bytes, offset), bytes, piece, copy);
        if (!side)
            receive_message(&ways[!side], next_place(!side, bytes, offset), bytes, piece, received);
    }
    return (now() - started) / rounds / 2;
}

/* The best of all ways to do it in memory of which so much is walked round. Both sides go through them in the same order. */
static double best_in(int side, size_t bytes, unsigned long *received, copying copy)
{
    static const size_t offsets[] = {0, 64, 2048};
    double best = 1e9;
    for (size_t piece = bytes < 2048 ? 2048 : bytes; piece >= 2048; piece = piece > 32768 ? 32768 : piece / 2)
        for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
            /* A guess that both sides share: 10 GB/s and 200 ns for each message. */
            int rounds = (int)(BATCH_SECONDS / (2 * (200e-9 + (double)bytes * 1e-10))) + 2;
            batch(side, bytes, piece, offsets[i], bytes ? (int)(walk / bytes) + 2 : 2, received, copy);
            for (int k = 0; k < BATCHES; k++) {
                double seconds = batch(side, bytes, piece, offsets[i], rounds, received, copy);
                best = seconds < best ? seconds : best;
            }
        }
    return best;
}

static double best_of(int side, size_t bytes, unsigned long *received, copying copy, const char *kind)
{
    double still = 1e9, walking = 1e9;
    walk = 0;
    if (strcmp(kind, "walking"))
        still = best_in(side, bytes, received, copy);
    walk = WALK;
    /* Shorter messages fit into the caches of both sides. */
    if (strcmp(kind, "still") && bytes >= 1024)
        walking = best_in(side, bytes, received, copy);
    return walking < still ? walking : still;
}

int main(int argc, char **argv)
{
    const char *cores = placement(&argc, argv);
    int sending = 0, receiving = 0;
    char kind[16] = "";
    if (argc != 4 || sscanf(argv[1], "%15[a-z]@%d/%d", kind, &sending, &receiving) != 3) {
        fprintf(stderr, "usage: bare_copies latency|ordinary|streamed|still|walking@SEND/RECEIVE FIRST LAST "
                        "[pin=CORE,CORE]\n");
        return 2;
    }
    int first = atoi(argv[2]), last = atoi(argv[3]);
    size_t room = (size_t)last + WALK + 2 * SMALLEST_SHARED;
    ways = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 2; i++)
        ways[i].bytes = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child = fork();
    int side = child == 0;
    unsigned long received = 0;
    pin(cores, side);
    out = block(room + PAGE) - HEADER + sending;
    in = block(room + PAGE) - HEADER + receiving;
    for (int bytes = first; bytes <= last; bytes = next_size(bytes)) {
        double seconds = 1e9;
        if (strcmp(kind, "streamed"))
            seconds = best_of(side, (size_t)bytes, &received, ordinary, kind);
        double past = strcmp(kind, "ordinary") ? best_of(side, (size_t)bytes, &received, streamed, kind) : seconds;
        seconds = past < seconds ? past : seconds;
        if (!side)
            printf("%s %d %.6g\n", argv[1], bytes, seconds * 1e6);
    }
    if (side)
        _exit(0);
    waitpid(child, NULL, 0);
    return 0;
}
