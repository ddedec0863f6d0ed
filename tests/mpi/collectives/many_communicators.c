/*
 * Many duplicated communicators alive at once, with one broadcast each, blocking and nonblocking in
 * turns. Rank 0 says how much memory a communicator takes, on all ranks together. MPI 5.0, 6.4
 * and 7.4.2
 *
 * Arguments: the number of communicators (1000), and the most KiB that each may take: so much, and
 * 4 more for each rank.
 */
#include "../check.h"

enum { LENGTH = 16 };

/* KiB of memory of this process; what it shares with others counts in part for each of them. */
static long memory(void)
{
    char line[256];
    long kilobytes = -1;
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "Pss: %ld kB", &kilobytes) == 1)
            break;
    if (file)
        fclose(file);
    return kilobytes;
}

/* The memory of all ranks, at rank 0. None of them changes while another one looks. */
static long memory_of_all(void)
{
    long sum = 0, own;
    CALL(MPI_Barrier(MPI_COMM_WORLD));
    own = memory();
    CHECK(own > 0, "the kernel does not tell the memory of this process");
    CALL(MPI_Reduce(&own, &sum, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD));
    CALL(MPI_Barrier(MPI_COMM_WORLD));
    return sum;
}

static void broadcast(MPI_Comm comm, int number)
{
    int data[LENGTH], root = number % check_size;
    MPI_Request request = MPI_REQUEST_NULL;
    for (int i = 0; i < LENGTH; i++)
        data[i] = check_rank == root ? number * 3 + i : -1;
    if (number % 2)
        CALL(MPI_Ibcast(data, LENGTH, MPI_INT, root, comm, &request));
    else
        CALL(MPI_Bcast(data, LENGTH, MPI_INT, root, comm));
    CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (int i = 0; i < LENGTH; i++)
        if (!CHECK(data[i] == number * 3 + i, "communicator %d: number %d is %d", number, i,
                   data[i]))
            return;
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int many = argc > 1 ? atoi(argv[1]) : 1000, most = argc > 2 ? atoi(argv[2]) : 0;
    MPI_Comm *comms = malloc(sizeof *comms * (size_t)many);
    memset(comms, 0, sizeof *comms * (size_t)many);
    broadcast(MPI_COMM_WORLD, 0);
    broadcast(MPI_COMM_WORLD, 1);
    long before = memory_of_all();
    for (int i = 0; i < many; i++)
        CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
    for (int i = 0; i < many; i++)
        broadcast(comms[i], i);
    double each = (double)(memory_of_all() - before) / many;
    if (check_rank == 0) {
        printf("%.1f KiB for each of %d communicators of %d ranks\n", each, many, check_size);
        fflush(stdout);
        CHECK(!most || each <= most + 4 * check_size, "a communicator takes more than %d KiB",
              most + 4 * check_size);
    }
    /* Those that are left work when others have gone. */
    for (int i = 0; i < many; i += 2)
        CALL(MPI_Comm_free(&comms[i]));
    for (int i = 1; i < many; i += 2) {
        broadcast(comms[i], i + 1);
        CALL(MPI_Comm_free(&comms[i]));
    }
    free(comms);
    return finish();
}
