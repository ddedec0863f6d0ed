/*
 * Ranks that disagree about the length of a block of MPI_Gatherv or MPI_Scatterv: who gets more
 * than it expects says MPI_ERR_TRUNCATE and nothing behind its buffer changes, whether the block is
 * short or long; all ranks end the call.
 */
#include "check.h"

enum { LONG = 200000, GUARD = 77 };

/* What the odd rank sends or gets, and what the other side expects. */
static const int pairs[][2] = {{1, 0},           {5, 4}, {LONG, 4}, {LONG, 0},
                               {LONG + 1, LONG}, {0, 5}, {4, LONG}, {LONG - 1, LONG}};

/* A block of `sent` bytes of which the receiver expects `wanted`. */
static void disagree(int scatters, int form, int sent, int wanted, int root)
{
    int odd = (root + 1) % check_size, code, counts[16] = {0}, places[16] = {0};
    char *from = malloc(LONG + 2), *into = malloc(LONG + 2);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm comm = MPI_COMM_WORLD;
    memset(from, 1, LONG + 2), memset(into, GUARD, LONG + 2);
    counts[odd] = scatters ? sent : wanted;
    int own = check_rank != odd ? 0 : scatters ? wanted : sent;
    if (scatters && form == 0)
        code = MPI_Scatterv(from, counts, places, MPI_BYTE, into, own, MPI_BYTE, root, comm);
    else if (scatters)
        code = MPI_Iscatterv(from, counts, places, MPI_BYTE, into, own, MPI_BYTE, root, comm,
                             &request);
    else if (form == 0)
        code = MPI_Gatherv(from, own, MPI_BYTE, into, counts, places, MPI_BYTE, root, comm);
    else
        code =
            MPI_Igatherv(from, own, MPI_BYTE, into, counts, places, MPI_BYTE, root, comm, &request);
    int waited = MPI_Wait(&request, MPI_STATUS_IGNORE), class = class_of(code ? code : waited);
    int receives = check_rank == (scatters ? odd : root);
    int expected = receives && sent > wanted ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
    CHECK(class == expected, "%d of %d bytes, form %d: class %d", sent, wanted, form, class);
    for (int i = 0; receives && sent <= wanted && i < sent; i++)
        if (!CHECK(into[i] == 1, "%d of %d bytes, form %d: byte %d is %d", sent, wanted, form, i,
                   into[i]))
            break;
    for (int i = receives ? wanted : 0; i < LONG + 2; i++)
        if (!CHECK(into[i] == GUARD, "%d of %d bytes, form %d: byte %d has changed", sent, wanted,
                   form, i))
            break;
    free(from), free(into);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    CALL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    for (unsigned i = 0; i < 4 * (sizeof pairs / sizeof *pairs); i++)
        for (int root = 0; root < check_size; root++)
            disagree(i & 1, i >> 1 & 1, pairs[i / 4][0], pairs[i / 4][1], root);
    return finish();
}
