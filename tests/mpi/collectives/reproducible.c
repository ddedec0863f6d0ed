/*
 * A sum of numbers whose rounding depends on the order: every rank of an allreduce gets the same bits, and so does every repetition,
 * whatever the form. MPI 5.0, 6.9.1 (advice to implementors) and 6.9.6
 */
#include "../check.h"

static unsigned long long state = 88172645463325252ull;

static double awkward(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(long long)state / (double)(1ull << (state % 61));
}

/* Compares a result with that of rank 0, bit by bit. */
static void same_on_all_ranks(const double *result, int count)
{
    double *first = malloc(sizeof(double) * (size_t)count + 1);
    memcpy(first, result, sizeof(double) * (size_t)count);
    CALL(MPI_Bcast(first, count, MPI_DOUBLE, 0, MPI_COMM_WORLD));
    CHECK(memcmp(first, result, sizeof(double) * (size_t)count) == 0, "%d doubles: rank 0 has other bits", count);
    free(first);
}

int main(int argc, char **argv)
{
    static const int counts[] = {1, 2, 3, 17, 128, 1000, 4097, 70001};
    start(&argc, &argv);
    state += (unsigned)check_rank * 7919u;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        int count = counts[i];
        size_t bytes = sizeof(double) * (size_t)count;
        double *in = malloc(bytes), *out = malloc(bytes), *again = malloc(bytes);
        for (int j = 0; j < count; j++)
            in[j] = awkward();
        CALL(MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
        same_on_all_ranks(out, count);
        for (int repetition = 0; repetition < 5; repetition++) {
            CALL(MPI_Allreduce(in, again, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
            CHECK(memcmp(out, again, bytes) == 0, "%d doubles: repetition %d has other bits", count, repetition);
        }
        memcpy(again, in, bytes);
        CALL(MPI_Allreduce(MPI_IN_PLACE, again, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
        CHECK(memcmp(out, again, bytes) == 0, "%d doubles: in place has other bits", count);
        MPI_Request request;
        CALL(MPI_Iallreduce(in, again, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request));
        CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
        same_on_all_ranks(again, count);
        free(in);
        free(out);
        free(again);
    }
    return finish();
}
