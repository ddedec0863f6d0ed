/*
 * A process is killed while topologies change and messages are under way, at a random moment of the making of one: the launcher says
 * which process it was, and nothing of the job is left. Argument: a number from which the moment follows (0: another each time).
 */
#include <signal.h>
#include <time.h>
#include <unistd.h>
#include "check.h"

enum { KINDS = 5, WARM = 4, SIZES = 4, STRANGERS = 2 };

static const int sizes[SIZES] = {8, 3000, 20000, 150000};

/* Different edges each time: a grid, a ring that goes both ways, a ring one way with weights, everybody, everybody with rank 0. */
static MPI_Comm make(int kind)
{
    MPI_Comm comm;
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size, both[2] = {left, right};
    int weight[1] = {1 + check_rank % 7}, weight_of_left[1] = {1 + left % 7};
    if (kind == 0) {
        int dims[2] = {0, 0}, periods[2] = {1, 0};
        MPI_Dims_create(check_size, 2, dims);
        CALL(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &comm));
    } else if (kind == 1)
        CALL(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, both, MPI_UNWEIGHTED, 2, both, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm));
    else if (kind == 2)
        CALL(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, weight_of_left, 1, &right, weight, MPI_INFO_NULL, 0, &comm));
    else {
        int degree = kind == 3 || check_rank == 0 ? check_size : 1, *all = malloc(sizeof(int) * (size_t)check_size);
        for (int i = 0; i < check_size; i++)
            all[i] = degree == 1 ? 0 : i;
        int self = check_rank;
        CALL(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &self, &degree, all, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm));
        free(all);
    }
    return comm;
}

/* This process dies so many nanoseconds from now, whatever it does then. */
static void die_in(long nanoseconds)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
    struct itimerspec when = {.it_value = {.tv_sec = nanoseconds / 1000000000, .tv_nsec = nanoseconds % 1000000000 + 1}};
    timer_t timer;
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &when, NULL))
        raise(SIGKILL);
}

int main(int argc, char **argv)
{
    static char out[150000], in[SIZES * STRANGERS][150000];
    start(&argc, &argv);
    unsigned seed = argc > 1 && atoi(argv[1]) ? (unsigned)atoi(argv[1]) : (unsigned)time(NULL) * 31 + (unsigned)getpid();
    CALL(MPI_Bcast(&seed, 1, MPI_UNSIGNED, 0, MPI_COMM_WORLD));
    srand(seed);
    int victim = rand() % check_size, fatal = WARM + rand() % (2 * KINDS);
    double part = rand() % 1000 / 700.0, longest = 0;
    if (check_rank == 0) {
        printf("seed %u, victim %d\n", seed, victim);
        fflush(stdout);
    }
    CALL(MPI_Barrier(MPI_COMM_WORLD));
    for (int round = 0;; round++) {
        MPI_Request requests[2 * SIZES * STRANGERS];
        int count = 0;
        for (int i = 0; i < SIZES; i++)
            for (int step = 1; step <= STRANGERS; step++) {
                int to = (check_rank + step * step) % check_size, from = (check_rank + step * step * (check_size - 1)) % check_size;
                CALL(MPI_Irecv(in[i * STRANGERS + step - 1], sizes[i], MPI_BYTE, from, step, MPI_COMM_WORLD, &requests[count++]));
                CALL(MPI_Isend(out, sizes[i], MPI_BYTE, to, step, MPI_COMM_WORLD, &requests[count++]));
            }
        if (round == fatal && check_rank == victim)
            die_in((long)(part * longest * 1e9));
        double begun = MPI_Wtime();
        MPI_Comm made = make((round + (int)seed % KINDS + KINDS) % KINDS);
        double took = MPI_Wtime() - begun;
        longest = round && took > longest ? took : longest;
        CALL(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
        CALL(MPI_Comm_free(&made));
    }
}
