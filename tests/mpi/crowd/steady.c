/*
 * Messages of all sizes go round a ring for a while: each comes once, whole and in order, none comes that nobody sent, and memory does
 * not grow. tests/hosts/strangers.py runs it while strangers attack.
 *
 * Arguments: seconds, megabytes that a rank may grow by.
 */
#include "pattern.h"
#include "resident.h"

static const size_t sizes[] = {0, 1, 100, 1400, 9000, 20000, 70000, 300000, 1000000};
enum { KINDS = sizeof sizes / sizeof *sizes, LONGEST = 1000000, WARM = 30 };

static unsigned char out[KINDS][LONGEST], in[KINDS][LONGEST];

static unsigned seed_of(int rank, unsigned round, int kind)
{
    return (unsigned)rank * 1000003u + round * 31u + (unsigned)kind;
}

/* Everybody sends one message of each size to the right and has one of each from the left. */
static void go_round(unsigned round)
{
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    MPI_Request requests[2 * KINDS];
    MPI_Status statuses[2 * KINDS];
    for (int kind = 0; kind < KINDS; kind++) {
        memset(in[kind], 0, sizes[kind]);
        MPI_Irecv(in[kind], (int)sizes[kind], MPI_BYTE, left, 5, MPI_COMM_WORLD, &requests[kind]);
    }
    for (int kind = 0; kind < KINDS; kind++) {
        pattern_fill(out[kind], sizes[kind], seed_of(check_rank, round, kind));
        MPI_Isend(out[kind], (int)sizes[kind], MPI_BYTE, right, 5, MPI_COMM_WORLD, &requests[KINDS + kind]);
    }
    REQUIRE(MPI_Waitall(2 * KINDS, requests, statuses) == MPI_SUCCESS, "round %u", round);
    for (int kind = 0; kind < KINDS; kind++) {
        int count;
        MPI_Get_count(&statuses[kind], MPI_BYTE, &count);
        CHECK(count == (int)sizes[kind], "%d bytes came instead of %zu", count, sizes[kind]);
        CHECK_PATTERN(in[kind], sizes[kind], seed_of(left, round, kind));
    }
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    double seconds = atof(argv[1]);
    long bound = atol(argv[2]) * 1024, before = 0, most = 0;
    double ends = 0;
    int goes_on = 1;
    unsigned round = 0;
    for (; goes_on; round++) {
        go_round(round);
        if (round == WARM) {
            before = resident_kilobytes("VmRSS");
            ends = MPI_Wtime() + seconds;
            if (check_rank == 0) {
                printf("the ring turns\n");
                fflush(stdout);
            }
        }
        if (round >= WARM && resident_kilobytes("VmRSS") > most)
            most = resident_kilobytes("VmRSS");
        goes_on = round <= WARM || MPI_Wtime() < ends;
        MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    int flag;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    CHECK(!flag, "a message that nobody sent");
    printf("rank %d: %u rounds, memory from %ld to %ld kB\n", check_rank, round, before, most);
    CHECK(before > 0 && most - before < bound, "memory went from %ld to %ld kB", before, most);
    return finish();
}
