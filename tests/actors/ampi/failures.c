/* Programs of ampi.h that fail: the argument names the case, examples.py has the sentences. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int numbers[30000];

/* No variable: ranks of a process share those. */
static int rank(void) {
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

static void truncation(void) {
    if (rank() == 1)
        MPI_Send(numbers, 20, MPI_INT, 0, 3, MPI_COMM_WORLD);
    if (rank() == 0)
        MPI_Recv(numbers, 10, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void long_truncation(void) {
    MPI_Request request;
    if (rank() == 1)
        MPI_Send(numbers, 30000, MPI_INT, 0, 3, MPI_COMM_WORLD);
    if (rank() == 0) {
        MPI_Irecv(numbers, 29999, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void bcast(void) {
    MPI_Bcast(numbers, rank() == 0 ? 5 : 4, MPI_INT, 0, MPI_COMM_WORLD);
}

static void gather(void) {
    MPI_Gather(numbers, 3, MPI_INT, numbers + 100, 2, MPI_INT, 0, MPI_COMM_SELF);
}

static void destination(void) {
    if (rank() == 3)
        MPI_Send(numbers, 1, MPI_INT, 8, 0, MPI_COMM_WORLD);
}

static void source(void) {
    if (rank() == 3)
        MPI_Recv(numbers, 1, MPI_INT, -7, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void root(void) {
    MPI_Bcast(numbers, 1, MPI_INT, 8, MPI_COMM_WORLD);
}

static void tag(void) {
    if (rank() == 3)
        MPI_Send(numbers, 1, MPI_INT, 0, -5, MPI_COMM_WORLD);
}

static void count(void) {
    if (rank() == 3)
        MPI_Send(numbers, -1, MPI_INT, 0, 0, MPI_COMM_WORLD);
}

static void null(void) {
    if (rank() == 3)
        MPI_Send(NULL, 2, MPI_INT, 0, 0, MPI_COMM_WORLD);
}

static void freed(void) {
    MPI_Comm comm, copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    copy = comm;
    MPI_Comm_free(&comm);
    MPI_Barrier(copy);
}

static void world(void) {
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Comm_free(&comm);
}

static void request(void) {
    MPI_Request first, copy;
    MPI_Isend(numbers, 1, MPI_INT, rank(), 0, MPI_COMM_WORLD, &first);
    copy = first;
    MPI_Wait(&first, MPI_STATUS_IGNORE);
    MPI_Wait(&copy, MPI_STATUS_IGNORE);
}

/* All but one wait for it. */
static void deadlock(void) {
    if (rank() != 5)
        MPI_Barrier(MPI_COMM_WORLD);
}

static void circle(void) {
    MPI_Recv(numbers, 1, MPI_INT, (rank() + 1) % 8, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void aborts(void) {
    if (rank() == 6)
        MPI_Abort(MPI_COMM_WORLD, 17);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* No call of ampi.h. */
static void unknown(void) {
    MPI_Request request;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
}

static void code(void) {}

static void cart(void) {
    MPI_Comm grid;
    MPI_Cart_create(MPI_COMM_WORLD, 2, (int[]){3, 3}, (int[]){0, 0}, 0, &grid);
}

static void in_place(void) {
    MPI_Gather(MPI_IN_PLACE, 1, MPI_INT, numbers, 1, MPI_INT, 0, MPI_COMM_WORLD);
}

static void in_place_of_none(void) {
    MPI_Reduce(MPI_IN_PLACE, numbers, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
}

static void finalized(void) {
    MPI_Finalize();
    MPI_Barrier(MPI_COMM_WORLD);
}

static const struct { const char *name; void (*function)(void); } cases[] = {
    {"truncation", truncation}, {"long truncation", long_truncation},
    {"bcast", bcast}, {"gather", gather}, {"destination", destination}, {"source", source},
    {"root", root}, {"tag", tag}, {"count", count}, {"null", null}, {"freed", freed},
    {"world", world}, {"request", request}, {"deadlock", deadlock}, {"circle", circle},
    {"aborts", aborts}, {"unknown", unknown}, {"code", code}, {"cart", cart},
    {"in place", in_place}, {"in place of none", in_place_of_none}, {"finalized", finalized},
};

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "not initialized") == 0)
        rank();
    MPI_Init(&argc, &argv);
    int code = rank() == 2 ? 9 : 0;
    for (size_t at = 0; argc == 2 && at < sizeof cases / sizeof *cases; ++at)
        if (strcmp(cases[at].name, argv[1]) == 0)
            cases[at].function();
    MPI_Finalize();
    return code;
}
