/*
 * Topologies of every kind come, overlap and go while messages between all processes, neighbours or not, are under way: each
 * message arrives once, whole and in order. Argument: rounds (12).
 */
#include "check.h"

enum { PENDING = 3, LARGEST = 30000 };

/* Lengths around the borders of the ways that a message can take. */
static const int lengths[] = {0, 1, 40, 41, 1000, 2240, 4096, 5000, 12288, 16384, LARGEST};
enum { LENGTHS = sizeof lengths / sizeof lengths[0] };

static unsigned state = 1;

/* The same numbers on all ranks. */
static int below(int limit)
{
    state = state * 1103515245u + 12345u;
    return (int)((state >> 16) % (unsigned)limit);
}

static char byte_of(int from, int to, int number, int index)
{
    return (char)(from * 31 + to * 17 + number * 7 + index);
}

/* Messages of one round between all pairs: sent before a topology is made, received after it. */
typedef struct {
    char *buffers;
    MPI_Request *requests;
    int count;
} Flight;

static int length_of(int from, int to, int round, int number)
{
    return lengths[(from * 5 + to * 3 + round + number * 2) % LENGTHS];
}

static Flight take_off(int round)
{
    Flight flight = {malloc((size_t)check_size * PENDING * LARGEST), malloc(sizeof(MPI_Request) * (size_t)check_size * PENDING), 0};
    for (int number = 0; number < PENDING; number++)
        for (int to = 0; to < check_size; to++) {
            int length = length_of(check_rank, to, round, number);
            char *buffer = flight.buffers + (size_t)(number * check_size + to) * LARGEST;
            for (int i = 0; i < length; i++)
                buffer[i] = byte_of(check_rank, to, number + round, i);
            CALL(MPI_Isend(buffer, length, MPI_CHAR, to, round, MPI_COMM_WORLD, &flight.requests[flight.count++]));
        }
    return flight;
}

static void land(Flight *flight, int round)
{
    static char buffer[LARGEST];
    for (int number = 0; number < PENDING; number++)
        for (int step = 0; step < check_size; step++) {
            int from = (check_rank + step) % check_size, count, wrong = 0, length = length_of(from, check_rank, round, number);
            MPI_Status status;
            CALL(MPI_Recv(buffer, LARGEST, MPI_CHAR, from, round, MPI_COMM_WORLD, &status));
            MPI_Get_count(&status, MPI_CHAR, &count);
            REQUIRE(count == length, "message %d of round %d from %d has %d bytes, not %d", number, round, from, count, length);
            for (int i = 0; i < length; i++)
                wrong += buffer[i] != byte_of(from, check_rank, number + round, i);
            CHECK(wrong == 0, "%d of %d bytes from %d are wrong", wrong, length, from);
        }
    CALL(MPI_Waitall(flight->count, flight->requests, MPI_STATUSES_IGNORE));
    free(flight->buffers);
    free(flight->requests);
}

static MPI_Comm grid(int dimensions, int periodic)
{
    int dims[3] = {0, 0, 0}, periods[3] = {periodic, 0, periodic};
    MPI_Comm comm;
    MPI_Dims_create(check_size, dimensions, dims);
    CALL(MPI_Cart_create(MPI_COMM_WORLD, dimensions, dims, periods, 0, &comm));
    return comm;
}

/* Everybody with rank 0; all of it declared to both sides. */
static MPI_Comm star(void)
{
    int *index = malloc(sizeof(int) * (size_t)check_size), *edges = malloc(sizeof(int) * 2 * (size_t)check_size), end = 0;
    MPI_Comm comm;
    for (int leaf = 1; leaf < check_size; leaf++)
        edges[end++] = leaf;
    index[0] = end;
    for (int leaf = 1; leaf < check_size; leaf++) {
        edges[end++] = 0;
        index[leaf] = end;
    }
    CALL(MPI_Graph_create(MPI_COMM_WORLD, check_size, index, edges, 0, &comm));
    free(index);
    free(edges);
    return comm;
}

/* Edges in one direction only, one of them twice, weights from 0 on. */
static MPI_Comm weighted_ring(void)
{
    int next = (check_rank + 1) % check_size, before = (check_rank + check_size - 1) % check_size;
    int sources[3] = {before, before, check_rank}, destinations[3] = {next, next, check_rank};
    int in[3] = {before % 5, 2, 1}, out[3] = {check_rank % 5, 2, 1};
    MPI_Comm comm;
    CALL(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 3, sources, in, 3, destinations, out, MPI_INFO_NULL, 0, &comm));
    return comm;
}

/* Complete, given by rank 0 alone. */
static MPI_Comm complete(void)
{
    size_t pairs = (size_t)check_size * (size_t)check_size;
    int *sources = malloc(sizeof(int) * (size_t)check_size), *degrees = malloc(sizeof(int) * (size_t)check_size);
    int *destinations = malloc(sizeof(int) * pairs);
    MPI_Comm comm;
    for (int i = 0; i < check_size; i++) {
        sources[i] = i;
        degrees[i] = check_size;
        for (int j = 0; j < check_size; j++)
            destinations[i * check_size + j] = j;
    }
    CALL(MPI_Dist_graph_create(MPI_COMM_WORLD, check_rank == 0 ? check_size : 0, sources, degrees, destinations, MPI_UNWEIGHTED,
                               MPI_INFO_NULL, 0, &comm));
    free(sources);
    free(degrees);
    free(destinations);
    return comm;
}

/* A grid of the first half of the processes; the others are in the call, but not in the grid. */
static MPI_Comm half(void)
{
    int dims[1] = {(check_size + 1) / 2}, periods[1] = {1};
    MPI_Comm comm;
    CALL(MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &comm));
    CHECK((comm == MPI_COMM_NULL) == (check_rank >= dims[0]), "rank %d", check_rank);
    return comm;
}

/* A grid in a part of the processes, while the others do the same in theirs. */
static MPI_Comm part(void)
{
    int dims[1], periods[1] = {1};
    MPI_Comm side, comm;
    CALL(MPI_Comm_split(MPI_COMM_WORLD, check_rank % 2, check_rank, &side));
    MPI_Comm_size(side, &dims[0]);
    CALL(MPI_Cart_create(side, 1, dims, periods, 0, &comm));
    CALL(MPI_Comm_free(&side));
    return comm;
}

static MPI_Comm make(int kind)
{
    switch (kind) {
    case 0: return grid(1, 1);
    case 1: return grid(2, 0);
    case 2: return grid(3, 1);
    case 3: return star();
    case 4: return weighted_ring();
    case 5: return complete();
    case 6: return half();
    default: return part();
    }
}

int main(int argc, char **argv)
{
    enum { ALIVE = 4 };
    MPI_Comm alive[ALIVE];
    start(&argc, &argv);
    int rounds = argc > 1 ? atoi(argv[1]) : 12;
    for (int i = 0; i < ALIVE; i++)
        alive[i] = MPI_COMM_NULL;
    for (int round = 0; round < rounds; round++) {
        Flight flight = take_off(round);
        int place = below(ALIVE), kind = below(8), copy = below(2);
        MPI_Comm made = make(kind);
        /* The copy keeps what the original declared. */
        if (copy && made != MPI_COMM_NULL) {
            MPI_Comm original = made;
            CALL(MPI_Comm_dup(original, &made));
            CALL(MPI_Comm_free(&original));
        }
        land(&flight, round);
        if (alive[place] != MPI_COMM_NULL)
            CALL(MPI_Comm_free(&alive[place]));
        alive[place] = made;
    }
    for (int i = 0; i < ALIVE; i++)
        if (alive[i] != MPI_COMM_NULL)
            CALL(MPI_Comm_free(&alive[i]));
    return finish();
}
