/*
 * Neighbourhood collectives that overlap: blocking ones while nonblocking and persistent ones are under way on the same communicator,
 * amid messages of the same neighbours that are received by wildcards and probes, on a topology that changes meanwhile, with ranks
 * that come late, and with a rank that only sends and runs ahead. MPI 5.0, 3.8, 6.12, 6.13, 8.6
 */
#include "pattern.h"

#include <unistd.h>

enum { EDGES = 3, ROUNDS = 400, LARGEST = 40000, TAG = 7 };

static int left, right, from[EDGES], to[EDGES];
static MPI_Comm graph, grid;
static unsigned state = 20261121;

/* A ring in which the edge to the right is there twice: block k goes to block k, whatever the number of ranks. */
static void make_graph(void)
{
    to[0] = to[2] = right, to[1] = left;
    from[0] = from[2] = left, from[1] = right;
    CALL(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, EDGES, from, MPI_UNWEIGHTED, EDGES, to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph));
}

struct exchange {
    unsigned seed;
    int bytes;
    unsigned char *out, *in;
    MPI_Request request;
};

static unsigned content(const struct exchange *e, int sender, int block)
{
    return e->seed * 64 + (unsigned)sender * EDGES + (unsigned)block;
}

static void prepare(struct exchange *e, int bytes)
{
    e->seed = next_random(&state) >> 8;
    e->bytes = bytes;
    e->out = malloc((size_t)EDGES * (size_t)bytes + 1);
    e->in = calloc((size_t)EDGES * (size_t)bytes + 1, 1);
    for (int k = 0; k < EDGES; k++)
        pattern_fill(e->out + k * bytes, (size_t)bytes, content(e, check_rank, k));
}

static void check(struct exchange *e, int gathered)
{
    for (int k = 0; k < EDGES; k++)
        CHECK_PATTERN(e->in + k * e->bytes, (size_t)e->bytes, content(e, from[k], gathered ? 0 : k));
    free(e->out);
    free(e->in);
}

static int draw_bytes(void)
{
    static const int sizes[] = {8, 1, 40, 41, 8, 1000, 4096, 16384, 8, LARGEST};
    return sizes[next_random(&state) % 10];
}

static void blocking(void)
{
    struct exchange e;
    prepare(&e, draw_bytes());
    int kind = (int)(next_random(&state) % 4), n = e.bytes;
    if (kind == 0) {
        CALL(MPI_Neighbor_allgather(e.out, n, MPI_BYTE, e.in, n, MPI_BYTE, graph));
    } else if (kind == 1) {
        int counts[EDGES] = {n, n, n}, places[EDGES] = {0, n, 2 * n};
        CALL(MPI_Neighbor_alltoallv(e.out, counts, places, MPI_BYTE, e.in, counts, places, MPI_BYTE, graph));
    } else if (kind == 2) {
        int counts[EDGES] = {n, n, n};
        MPI_Aint places[EDGES] = {0, n, 2 * n};
        MPI_Datatype types[EDGES] = {MPI_BYTE, MPI_CHAR, MPI_BYTE};
        CALL(MPI_Neighbor_alltoallw(e.out, counts, places, types, e.in, counts, places, types, graph));
    } else {
        CALL(MPI_Neighbor_alltoall(e.out, n, MPI_BYTE, e.in, n, MPI_BYTE, graph));
    }
    check(&e, kind == 0);
}

/* On a periodic grid, where block 0 comes from the left and block 1 from the right. */
static void blocking_on_grid(void)
{
    int out[2] = {check_rank * 2, check_rank * 2 + 1}, in[2] = {-1, -1};
    CALL(MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, grid));
    CHECK(in[0] == left * 2 + 1 && in[1] == right * 2, "%d and %d from %d and %d", in[0], in[1], left, right);
}

static void late(void)
{
    unsigned who = next_random(&state) % 8;
    if (who == (unsigned)check_rank)
        usleep(300);
}

/* A message around the ring, which is received in one of several ways. */
struct letter {
    int bytes, tag, posted;
    unsigned seed;
    unsigned char out[3000], in[3000];
    MPI_Request sent, received;
};

static void send_letter(struct letter *l)
{
    pattern_fill(l->out, (size_t)l->bytes, l->seed + (unsigned)check_rank);
    CALL(MPI_Isend(l->out, l->bytes, MPI_BYTE, right, l->tag, graph, &l->sent));
}

static void receive_letter(struct letter *l, unsigned how)
{
    MPI_Status status;
    int found = 0;
    if (l->posted) {
        CALL(MPI_Wait(&l->received, &status));
    } else if (how % 3 == 0) {
        while (!found)
            CALL(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, graph, &found, &status));
        CALL(MPI_Recv(l->in, 3000, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, graph, &status));
    } else if (how % 3 == 1) {
        MPI_Message message;
        CALL(MPI_Mprobe(left, MPI_ANY_TAG, graph, &message, &status));
        CALL(MPI_Mrecv(l->in, 3000, MPI_BYTE, &message, &status));
    } else {
        CALL(MPI_Recv(l->in, 3000, MPI_BYTE, MPI_ANY_SOURCE, l->tag, graph, &status));
    }
    int bytes = -1;
    CALL(MPI_Get_count(&status, MPI_BYTE, &bytes));
    CHECK(status.MPI_SOURCE == left && status.MPI_TAG == l->tag && bytes == l->bytes, "a letter from %d with tag %d and %d bytes", status.MPI_SOURCE,
          status.MPI_TAG, bytes);
    CHECK_PATTERN(l->in, (size_t)l->bytes, l->seed + (unsigned)left);
    CALL(MPI_Wait(&l->sent, MPI_STATUS_IGNORE));
}

static void overlapping(void)
{
    static struct letter letter;
    struct exchange under_way, again;
    prepare(&again, 24);
    CALL(MPI_Neighbor_alltoall_init(again.out, 24, MPI_BYTE, again.in, 24, MPI_BYTE, graph, MPI_INFO_NULL, &again.request));
    for (int round = 0; round < ROUNDS / 10; round++) {
        unsigned choice = next_random(&state), how = next_random(&state);
        letter = (struct letter){.bytes = choice & 256 ? 3000 : 8, .tag = (int)(how >> 4 & 0xff), .posted = choice & 1, .seed = how};
        if (letter.posted)
            CALL(MPI_Irecv(letter.in, 3000, MPI_BYTE, choice & 2 ? MPI_ANY_SOURCE : left, choice & 4 ? MPI_ANY_TAG : letter.tag, graph, &letter.received));
        if (choice & 8)
            send_letter(&letter);
        if (choice & 16) {
            prepare(&under_way, draw_bytes());
            CALL(MPI_Ineighbor_alltoall(under_way.out, under_way.bytes, MPI_BYTE, under_way.in, under_way.bytes, MPI_BYTE, graph, &under_way.request));
        }
        if (choice & 32)
            CALL(MPI_Start(&again.request));
        late();
        blocking();
        if (!(choice & 8))
            send_letter(&letter);
        blocking();
        blocking_on_grid();
        if (choice & 64)
            receive_letter(&letter, how);
        late();
        blocking();
        if (choice & 16) {
            CALL(MPI_Wait(&under_way.request, MPI_STATUS_IGNORE));
            check(&under_way, 0);
        }
        if (choice & 32)
            CALL(MPI_Wait(&again.request, MPI_STATUS_IGNORE));
        if (!(choice & 64))
            receive_letter(&letter, how);
    }
    CALL(MPI_Start(&again.request));
    CALL(MPI_Wait(&again.request, MPI_STATUS_IGNORE));
    CALL(MPI_Request_free(&again.request));
    check(&again, 0);
}

/* The topology of the collective that is under way goes, and others come, before it is complete. */
static void changing(void)
{
    for (int round = 0; round < 20; round++) {
        struct exchange e;
        prepare(&e, draw_bytes());
        CALL(MPI_Ineighbor_alltoall(e.out, e.bytes, MPI_BYTE, e.in, e.bytes, MPI_BYTE, graph, &e.request));
        CALL(MPI_Comm_free(&graph));
        make_graph();
        blocking();
        CALL(MPI_Wait(&e.request, MPI_STATUS_IGNORE));
        check(&e, 0);
        blocking();
    }
}

/* Rank 0 only sends, every other one only receives from the one before, and passes on. */
static void running_ahead(void)
{
    MPI_Comm chain;
    int before = check_rank - 1, after = check_rank + 1;
    CALL(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, before >= 0, &before, MPI_UNWEIGHTED, after < check_size, &after, MPI_UNWEIGHTED,
                                        MPI_INFO_NULL, 0, &chain));
    if (check_rank)
        usleep(3000);
    for (int round = 0; round < ROUNDS * 10; round++) {
        int out = round * 5 + 3, in = -1;
        CALL(MPI_Neighbor_allgather(&out, 1, MPI_INT, &in, 1, MPI_INT, chain));
        CHECK(in == (check_rank ? out : -1), "round %d brought %d", round, in);
    }
    CALL(MPI_Comm_free(&chain));
}

/* A neighbour sends more than there is room for: an error, and what comes after it is in order. (Which rank sees it is clear only where
 * all of a rank's sends are received.) */
static void too_long(void)
{
    int out[2 * EDGES] = {0}, in[2 * EDGES];
    CALL(MPI_Comm_set_errhandler(graph, MPI_ERRORS_RETURN));
    FAILS(MPI_Neighbor_alltoall(out, 2, MPI_INT, in, 1, MPI_INT, graph), MPI_ERR_TRUNCATE);
    CALL(MPI_Comm_set_errhandler(graph, MPI_ERRORS_ARE_FATAL));
    blocking();
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int one = 1;
    left = (check_rank + check_size - 1) % check_size;
    right = (check_rank + 1) % check_size;
    make_graph();
    CALL(MPI_Cart_create(MPI_COMM_WORLD, 1, &check_size, &one, 0, &grid));
    for (int i = 0; i < 10; i++) {
        overlapping();
        changing();
    }
    running_ahead();
    if (argc > 1)
        too_long();
    CALL(MPI_Comm_free(&graph));
    CALL(MPI_Comm_free(&grid));
    return finish();
}
