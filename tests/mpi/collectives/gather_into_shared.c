/*
 * Gathers into memory of MPI_Alloc_mem, where members may write their blocks themselves: blocking,
 * nonblocking and persistent, in place, of all lengths, for a root that is earlier or later than
 * the others. MPI 5.0, 6.5, 6.12, 6.13 and 9.2
 */
#include <stdint.h>
#include <unistd.h>
#include "check.h"

enum { LONGEST = 400000, GUARD = 64, ROUNDS = 60, AHEAD = 3 };

static const int lengths[] = {0, 1, 4095, 4096, 5000, 16384, 16385, 100000, LONGEST};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

/* Byte `at` of the block of `rank` in call `call`. */
static char byte_of(int call, int rank, int at)
{
    return (char)(call * 31 + rank * 7 + at + at / 251);
}

static void fill(char *block, int call, int rank, int length)
{
    for (int i = 0; i < length; i++)
        block[i] = byte_of(call, rank, i);
}

static void judge(const char *all, int call, int length)
{
    for (int rank = 0; rank < check_size; rank++)
        for (int i = 0; i < length; i++)
            if (all[(size_t)rank * length + i] != byte_of(call, rank, i)) {
                CHECK(0, "call %d, %d bytes: byte %d of rank %d is wrong", call, length, i, rank);
                return;
            }
    for (int i = 0; i < GUARD; i++)
        CHECK(all[(size_t)check_size * length + i] == 'g',
              "call %d, %d bytes: byte %d behind the buffer", call, length, i);
}

/* Lets some rank be late. */
static void dawdle(unsigned *seed, int rank)
{
    *seed = *seed * 1103515245 + 12345;
    if ((int)(*seed >> 16) % (check_size + 1) == rank)
        usleep(1 + (*seed >> 20) % 2000);
}

static void gathers(char *all[AHEAD], char *blocks[AHEAD])
{
    unsigned seed = 5;
    MPI_Request requests[AHEAD];
    for (int round = 0; round < ROUNDS; round++) {
        int number = 0, used[AHEAD], roots[AHEAD];
        for (; number < AHEAD; number++) {
            int call = round * AHEAD + number, length = lengths[(call * 5 + round) % LENGTHS],
                root = call % check_size;
            char *into = all[number], *block = blocks[number];
            used[number] = length;
            roots[number] = root;
            memset(into + (size_t)check_size * length, 'g', GUARD);
            fill(block, call, check_rank, length);
            int in_place = check_rank == root && call % 4 == 3;
            if (in_place)
                memcpy(into + (size_t)root * length, block, (size_t)length);
            const void *send = in_place ? MPI_IN_PLACE : block;
            dawdle(&seed, check_rank);
            if (round % 3 == 0) {
                CALL(MPI_Gather(send, length, MPI_BYTE, into, length, MPI_BYTE, root,
                                MPI_COMM_WORLD));
                requests[number] = MPI_REQUEST_NULL;
                memset(block, 0, (size_t)length);
            } else if (round % 3 == 1)
                CALL(MPI_Igather(send, length, MPI_BYTE, into, length, MPI_BYTE, root,
                                 MPI_COMM_WORLD, &requests[number]));
            else {
                CALL(MPI_Gather_init(send, length, MPI_BYTE, into, length, MPI_BYTE, root,
                                     MPI_COMM_WORLD, MPI_INFO_NULL, &requests[number]));
                CALL(MPI_Start(&requests[number]));
            }
        }
        CALL(MPI_Waitall(number, requests, MPI_STATUSES_IGNORE));
        for (int i = 0; i < number; i++) {
            if (round % 3 == 2)
                CALL(MPI_Request_free(&requests[i]));
            if (check_rank == roots[i])
                judge(all[i], round * AHEAD + i, used[i]);
        }
    }
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    char *all[AHEAD], *blocks[AHEAD];
    for (int i = 0; i < AHEAD; i++) {
        CALL(MPI_Alloc_mem((MPI_Aint)check_size * LONGEST + GUARD, MPI_INFO_NULL, &all[i]));
        blocks[i] = malloc(LONGEST);
    }
    gathers(all, blocks);
    for (int i = 0; i < AHEAD; i++) {
        CALL(MPI_Free_mem(all[i]));
        free(blocks[i]);
    }
    return finish();
}
