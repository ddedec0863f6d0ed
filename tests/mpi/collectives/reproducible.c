/*
 * A sum of numbers whose rounding depends on the order: every rank of an allreduce gets the same
 * bits, and so does every repetition. With the argument "forms" every reduction is also made in the
 * nonblocking and the persistent form, which must give the bits of the blocking one. MPI 5.0, 6.9.1
 * (advice to implementors) and 6.9.6
 */
#include "../check.h"

enum { REDUCE, ALLREDUCE, REDUCE_SCATTER, REDUCE_SCATTER_BLOCK, SCAN, EXSCAN, KINDS };

static const char *const names[] = {"reduce", "allreduce", "reduce_scatter", "reduce_scatter_block",
                                    "scan",   "exscan"};

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

/* Calls a reduction in a form: blocking (0), nonblocking (1) or persistent (2). */
#define IN_FORM(form, NAME, LOWER, ...)                                    \
    do {                                                                   \
        MPI_Request request = MPI_REQUEST_NULL;                            \
        if ((form) == 0)                                                   \
            CALL(MPI_##NAME(__VA_ARGS__));                                 \
        else if ((form) == 1)                                              \
            CALL(MPI_I##LOWER(__VA_ARGS__, &request));                     \
        else {                                                             \
            CALL(MPI_##NAME##_init(__VA_ARGS__, MPI_INFO_NULL, &request)); \
            CALL(MPI_Start(&request));                                     \
        }                                                                  \
        CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));                       \
        if ((form) == 2)                                                   \
            CALL(MPI_Request_free(&request));                              \
    } while (0)

/* One reduction of `count` numbers, which reduce_scatter_block divides among the ranks; the rest of
 * `out` is zero afterwards. */
static void reduce_in_form(int form, int kind, const double *in, double *out, int count, int root)
{
    int each = count / check_size, *counts = malloc(sizeof(int) * (size_t)check_size);
    memset(out, 0, sizeof(double) * (size_t)count);
    for (int i = 0; i < check_size; i++)
        counts[i] = i < check_size - 1 ? each : count - each * (check_size - 1);
    switch (kind) {
    case REDUCE:
        IN_FORM(form, Reduce, reduce, in, out, count, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
        break;
    case ALLREDUCE:
        IN_FORM(form, Allreduce, allreduce, in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        break;
    case REDUCE_SCATTER:
        IN_FORM(form, Reduce_scatter, reduce_scatter, in, out, counts, MPI_DOUBLE, MPI_SUM,
                MPI_COMM_WORLD);
        break;
    case REDUCE_SCATTER_BLOCK:
        IN_FORM(form, Reduce_scatter_block, reduce_scatter_block, in, out, each, MPI_DOUBLE,
                MPI_SUM, MPI_COMM_WORLD);
        break;
    case SCAN:
        IN_FORM(form, Scan, scan, in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        break;
    default:
        IN_FORM(form, Exscan, exscan, in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        break;
    }
    free(counts);
}

static void same_in_all_forms(const double *in, int count)
{
    static const char *const forms[] = {"blocking", "nonblocking", "persistent"};
    size_t bytes = sizeof(double) * (size_t)count;
    double *blocking = malloc(bytes), *other = malloc(bytes);
    for (int kind = 0; kind < KINDS; kind++)
        for (int root = 0; root < (kind == REDUCE ? check_size : 1); root++) {
            reduce_in_form(0, kind, in, blocking, count, root);
            for (int form = 1; form < 3; form++)
                for (int repetition = 0; repetition < 3; repetition++) {
                    reduce_in_form(form, kind, in, other, count, root);
                    CHECK(memcmp(blocking, other, bytes) == 0,
                          "%s %s of %d doubles, root %d: other bits than the blocking one",
                          forms[form], names[kind], count, root);
                }
        }
    free(blocking);
    free(other);
}

int main(int argc, char **argv)
{
    static const int counts[] = {1, 2, 3, 17, 128, 1000, 4097, 70001};
    start(&argc, &argv);
    int forms = argc > 1 && strcmp(argv[1], "forms") == 0;
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
        if (forms)
            same_in_all_forms(in, count);
        free(in);
        free(out);
        free(again);
    }
    return finish();
}
