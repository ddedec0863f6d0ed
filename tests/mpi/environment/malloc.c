/* Memory of malloc and its kin is memory, whatever the MPI library does with it: all functions, sizes on both sides of every border,
 * blocks that outlive MPI, child processes, threads, more than there is room for, and messages from and to fresh blocks.
 * With the argument "shared": large blocks lie in memory that processes share. MPI 5.0, 9.2; ISO C 7.22.3 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>
#include "pattern.h"

enum { KI = 1024, MI = 1024 * KI, BORDER = 128 * KI, THREADS = 4 };

/* Whether the page of an address is mapped shared, as the system says. */
static int is_shared(const void *address)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[1024], modes[8];
    unsigned long from, to, wanted = (unsigned long)address;
    int shared = -1;
    while (maps && shared < 0 && fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx %7s", &from, &to, modes) == 3 && from <= wanted && wanted < to)
            shared = modes[3] == 's';
    if (maps)
        fclose(maps);
    return shared;
}

static char *filled(size_t bytes, unsigned seed)
{
    char *block = malloc(bytes);
    REQUIRE(block, "no memory for %zu bytes", bytes);
    CHECK(malloc_usable_size(block) >= bytes && (size_t)block % 16 == 0, "a block of %zu at %p", malloc_usable_size(block), (void *)block);
    pattern_fill(block, bytes, seed);
    return block;
}

static void places(void)
{
    static const size_t sizes[] = {1, 64 * KI, BORDER - 1, BORDER, BORDER + 1, 3 * MI, 20 * MI, 40 * MI};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *block = filled(sizes[i], (unsigned)i);
        int expected = sizes[i] >= BORDER;
        CHECK(is_shared(block) == expected && is_shared(block + sizes[i] - 1) == expected, "%zu bytes: shared is %d", sizes[i], is_shared(block));
        free(block);
    }
    char *resized = realloc(malloc(100), 3 * MI);
    CHECK(is_shared(resized) == 1, "a block that has grown is private");
    resized = realloc(resized, 100);
    CHECK(is_shared(resized) == 0, "a block that has shrunk is shared");
    free(resized);
    void *aligned = NULL;
    CHECK(!posix_memalign(&aligned, 4096, MI) && is_shared(aligned) == 1, "an aligned block is private");
    free(aligned);
}

static void sizes_change(void)
{
    static const size_t sizes[] = {10, BORDER - 1, BORDER, 5 * MI, 300 * KI, BORDER + 5, 100, 0, 6 * MI, 7 * MI, 50 * MI, 1};
    size_t held = 7;
    char *block = filled(held, 1);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *other = i % 3 ? NULL : filled(200 * KI, 77);
        block = i % 2 ? reallocarray(block, sizes[i], 1) : realloc(block, sizes[i]);
        if (block)
            CHECK_PATTERN(block, held < sizes[i] ? held : sizes[i], 1);
        held = sizes[i];
        if (block)
            pattern_fill(block, held, 1);
        if (other)
            CHECK_PATTERN(other, 200 * KI, 77);
        free(other);
    }
    free(block);
    size_t most = SIZE_MAX / 2;
    /* Volatile, because compilers know that these fail. */
    volatile size_t wrong = most;
    errno = 0;
    CHECK(!reallocarray(NULL, wrong, 4) && errno == ENOMEM, "errno %d", errno);
    CHECK(!calloc(wrong, 4) && !malloc(wrong), "blocks larger than all memory");
}

static void zeroed(void)
{
    for (size_t bytes = 100; bytes < 50u * MI; bytes = bytes * 5 + 3) {
        char *dirty = malloc(bytes);
        memset(dirty, 0x77, bytes);
        free(dirty);
        char *block = calloc(bytes, 1);
        for (size_t i = 0; i < bytes; i++)
            if (block[i] != 0) {
                CHECK(0, "byte %zu of %zu is %d", i, bytes, block[i]);
                break;
            }
        free(block);
    }
}

static void aligned(void)
{
    for (size_t alignment = 8; alignment <= 4 * MI; alignment *= 8)
        for (size_t bytes = 1000; bytes <= 1000 * KI; bytes *= 10) {
            void *blocks[3] = {NULL, aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment), memalign(alignment, bytes)};
            CHECK(posix_memalign(&blocks[0], alignment, bytes) == 0, "alignment %zu", alignment);
            for (int i = 0; i < 3; i++) {
                REQUIRE(blocks[i] && (size_t)blocks[i] % alignment == 0, "function %d: %p for alignment %zu", i, blocks[i], alignment);
                memset(blocks[i], i, malloc_usable_size(blocks[i]));
            }
            for (int i = 0; i < 3; i++) {
                CHECK(((char *)blocks[i])[bytes - 1] == i, "blocks overlap");
                free(blocks[i]);
            }
        }
    void *none = NULL;
    CHECK(posix_memalign(&none, 24, 5 * MI) == EINVAL && posix_memalign(&none, 4, 5 * MI) == EINVAL && !none, "wrong alignments");
    void *pages = valloc(300 * KI);
    CHECK(pages && (size_t)pages % 4096 == 0, "valloc gives %p", pages);
    free(pages);
}

/* A child has the contents of the moment of the fork, and what it writes, frees and resizes is its own. */
static int child(char *block, char *small, char *owned, int generation)
{
    for (int i = 0; i < 2; i++)
        usleep(20000);
    CHECK_PATTERN(block, 2 * MI, 10 + (unsigned)generation);
    CHECK_PATTERN(small, 1000, 11);
    CHECK_PATTERN(owned, MI, 12);
    memset(owned, 0x44, MI);
    char *fresh = filled(3 * MI, 13);
    block = realloc(block, 4 * MI);
    CHECK_PATTERN(block, 2 * MI, 10 + (unsigned)generation);
    pattern_fill(block, 4 * MI, 11 + (unsigned)generation);
    if (generation == 0) {
        pid_t grandchild = fork();
        if (grandchild == 0) {
            pattern_fill(owned, MI, 12);
            _exit(child(block, small, owned, 1));
        }
        memset(block, 0x33, 4 * MI);
        int status = -1;
        waitpid(grandchild, &status, 0);
        CHECK(status == 0, "the grandchild ended with %d", status);
    }
    CHECK_PATTERN(fresh, 3 * MI, 13);
    free(fresh);
    free(block);
    free(small);
    return check_failures != 0;
}

static void forks(void)
{
    for (int i = 0; i < 3; i++) {
        char *block = filled(2 * MI, 10), *small = filled(1000, 11), *owned, *freed = filled(9 * MI, 14);
        free(freed);
        CALL(MPI_Alloc_mem(MI, MPI_INFO_NULL, &owned));
        pattern_fill(owned, MI, 12);
        fflush(NULL);
        pid_t pid = fork();
        if (pid == 0)
            _exit(child(block, small, owned, 0));
        /* At once, while the child sleeps. */
        pattern_fill(block, 2 * MI, 50);
        memset(owned, 0x66, MI);
        char *other = filled(2 * MI, 51);
        int status = -1;
        CHECK(waitpid(pid, &status, 0) == pid && status == 0, "the child ended with %d", status);
        CHECK_PATTERN(block, 2 * MI, 50);
        CHECK_PATTERN(other, 2 * MI, 51);
        CHECK(owned[0] == 0x66 && owned[MI - 1] == 0x66, "a child has written to its parent's block");
        /* The block is still where the peers see it. */
        int peer = check_rank ^ 1;
        if (peer < check_size)
            CALL(MPI_Sendrecv(block, 2 * MI, MPI_BYTE, peer, i, other, 2 * MI, MPI_BYTE, peer, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        if (peer < check_size)
            CHECK_PATTERN(other, 2 * MI, 50);
        free(other);
        free(block);
        free(small);
        CALL(MPI_Free_mem(owned));
    }
}

static void *churn(void *argument)
{
    enum { HELD = 6, ROUNDS = 300 };
    unsigned state = 17 + (unsigned)(size_t)argument + 100u * (unsigned)check_rank;
    char *held[HELD] = {NULL};
    size_t bytes[HELD] = {0};
    for (int round = 0; round < ROUNDS; round++) {
        int i = (int)(next_random(&state) % HELD);
        size_t wanted = 1 + next_random(&state) % (round % 10 ? 4000 : 600 * KI), kept = bytes[i] < wanted ? bytes[i] : wanted;
        if (held[i])
            CHECK_PATTERN(held[i], bytes[i] < 5000 ? bytes[i] : 5000, (unsigned)i);
        held[i] = realloc(held[i], wanted);
        CHECK_PATTERN(held[i], kept < 5000 ? kept : 5000, (unsigned)i);
        pattern_fill(held[i], wanted, (unsigned)i);
        bytes[i] = wanted;
        if (next_random(&state) % 3 == 0) {
            free(held[i]);
            held[i] = NULL;
            bytes[i] = 0;
        }
    }
    for (int i = 0; i < HELD; i++)
        free(held[i]);
    return NULL;
}

/* Threads that allocate while another one forks. */
static void threads(void)
{
    pthread_t all[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        REQUIRE(!pthread_create(&all[i], NULL, churn, (void *)i), "no thread %zu", i);
    for (int i = 0; i < 5; i++) {
        char *block = filled(200 * KI, 60);
        pid_t pid = fork();
        if (pid == 0) {
            int same = pattern_differs(block, 200 * KI, 60) < 0;
            free(block);
            _exit(!same);
        }
        int status = -1;
        CHECK(waitpid(pid, &status, 0) == pid && status == 0, "child %d ended with %d", i, status);
        free(block);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(all[i], NULL);
}

/* More than any heap: blocks of 1 GiB of which one page is touched. */
static void no_room(void)
{
    enum { MANY = 12 };
    char *blocks[MANY];
    for (int i = 0; i < MANY; i++) {
        blocks[i] = malloc((size_t)1024 * MI);
        if (blocks[i])
            blocks[i][i] = (char)i;
    }
    for (int i = 0; i < MANY; i++) {
        CHECK(!blocks[i] || blocks[i][i] == i, "block %d was written by another", i);
        free(blocks[i]);
    }
}

/* A ring of messages from and to blocks that are new each time. */
static void messages(void)
{
    static const int sizes[] = {1000, BORDER, MI, 3000001};
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    for (int i = 0; i < 40; i++) {
        int bytes = sizes[i % 4];
        char *out = filled((size_t)bytes, (unsigned)(check_rank + i)), *in = i % 3 ? malloc((size_t)bytes) : calloc((size_t)bytes, 1);
        CALL(MPI_Sendrecv(out, bytes, MPI_BYTE, right, i, in, bytes, MPI_BYTE, left, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK_PATTERN(in, (size_t)bytes, (unsigned)(left + i));
        free(out);
        free(in);
    }
}

int main(int argc, char **argv)
{
    char *early = filled(2 * MI, 3), *early_too = filled(2 * MI, 4);
    start(&argc, &argv);
    if (argc > 1 && !strcmp(argv[1], "shared"))
        places();
    early = realloc(early, 5 * MI);
    CHECK_PATTERN(early, 2 * MI, 3);
    free(early_too);
    sizes_change();
    zeroed();
    aligned();
    forks();
    threads();
    no_room();
    messages();
    char *late = filled(MI, 5), *later = filled(MI, 6), *owner = filled(300 * KI, 7);
    MPI_Finalize();
    CHECK_PATTERN(late, MI, 5);
    later = realloc(later, 4 * MI);
    CHECK_PATTERN(later, MI, 6);
    owner = realloc(owner, 10);
    CHECK_PATTERN(owner, 10, 7);
    char *last = filled(2 * MI, 8);
    pid_t pid = fork();
    if (pid == 0) {
        CHECK_PATTERN(late, MI, 5);
        memset(late, 0, MI);
        _exit(check_failures != 0);
    }
    int status = -1;
    CHECK(waitpid(pid, &status, 0) == pid && status == 0, "the child ended with %d", status);
    CHECK_PATTERN(late, MI, 5);
    free(late);
    free(later);
    free(last);
    free(owner);
    free(early);
    return verdict();
}
