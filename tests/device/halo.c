/*
 * Halo exchanges: several faces at a time, by messages and by a neighbourhood collective, so that
 * their transfers are ready together.
 *
 *     halo ROUNDS SEED [LAUNCHES]
 *
 * First six faces in device memory, with words of each size. If LAUNCHES is given, the kernels that
 * both ranks launch for one exchange must be as many, at best. Then, in each round, random faces in
 * host and device memory.
 */
#include "random_types.h"

#include <unistd.h>

enum { SIX = 6, MOST_FACES = 26, LARGEST = 1 << 20, COUNTED = 10, WHILE_US = 30000 };

typedef struct {
    MPI_Datatype type;
    int to, source;
    Memory from, into;
} Face;

static Face faces[MOST_FACES];
/* Host and device memory for all faces. */
static Memory sent[2], received[2];
static unsigned char *expected, *packed;

/* The part of a face in a buffer of all of them. */
static Memory part_of(Memory all, int face, size_t size)
{
    return (Memory){all.on_device, size, (char *)all.bytes + (size_t)face * LARGEST};
}

static unsigned seed_of_face(int rank, int round, int face)
{
    return (unsigned)((round * MOST_FACES + face) * check_size + rank);
}

static void set_face(int number, int round, MPI_Datatype type, bool from_device, bool to_device)
{
    MPI_Aint lower, extent;
    int others = check_size > 1 ? check_size - 1 : 1, distance = 1 + number % others;
    MPI_Type_get_true_extent(type, &lower, &extent);
    size_t size = (size_t)(lower + extent);
    REQUIRE(size <= LARGEST, "a datatype reaches over %zu bytes", size);
    faces[number] = (Face){type, (check_rank + distance) % check_size,
                           (check_rank + check_size - distance % check_size) % check_size,
                           part_of(sent[from_device], number, size),
                           part_of(received[to_device], number, size)};
    set_pattern(faces[number].from, seed_of_face(check_rank, round, number));
    set_pattern(faces[number].into, (unsigned)number);
}

/* Starts an exchange of so many faces, and returns the number of requests. */
static int start_messages(int count, MPI_Request *requests)
{
    for (int i = 0; i < count; i++)
        CALL(MPI_Irecv(faces[i].into.bytes, 1, faces[i].type, faces[i].source, i, MPI_COMM_WORLD,
                       &requests[i]));
    for (int i = 0; i < count; i++)
        CALL(MPI_Isend(faces[i].from.bytes, 1, faces[i].type, faces[i].to, i, MPI_COMM_WORLD,
                       &requests[count + i]));
    return 2 * count;
}

/* The arguments of a neighbourhood collective, which must stay until it is complete. */
static struct {
    int ones[MOST_FACES], sources[MOST_FACES], targets[MOST_FACES];
    MPI_Aint from[MOST_FACES], into[MOST_FACES];
    MPI_Datatype types[MOST_FACES];
    MPI_Comm comm;
} graph;

static int start_collective(int count, MPI_Request *requests)
{
    for (int i = 0; i < count; i++) {
        graph.ones[i] = 1;
        graph.sources[i] = faces[i].source;
        graph.targets[i] = faces[i].to;
        graph.types[i] = faces[i].type;
        graph.from[i] = (MPI_Aint)faces[i].from.bytes;
        graph.into[i] = (MPI_Aint)faces[i].into.bytes;
    }
    CALL(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, count, graph.sources, graph.ones, count,
                                        graph.targets, graph.ones, MPI_INFO_NULL, 0, &graph.comm));
    CALL(MPI_Ineighbor_alltoallw(MPI_BOTTOM, graph.ones, graph.from, graph.types, MPI_BOTTOM,
                                 graph.ones, graph.into, graph.types, graph.comm, requests));
    return 1;
}

/* Exchanges the faces; a rank that works meanwhile finds all of them ready when it waits. */
static void exchange(bool collective, int count, bool works)
{
    MPI_Request requests[2 * MOST_FACES];
    int number = collective ? start_collective(count, requests) : start_messages(count, requests);
    if (works)
        usleep(WHILE_US);
    CALL(MPI_Waitall(number, requests, MPI_STATUSES_IGNORE));
    if (collective)
        MPI_Comm_free(&graph.comm);
}

/* Whether a face has arrived as it must; frees its datatype. */
static bool is_right(int number, int round)
{
    Face *face = &faces[number];
    pattern_fill(packed, face->from.size, seed_of_face(face->source, round, number));
    pattern_fill(expected, face->into.size, (unsigned)number);
    MPI_Sendrecv(packed, 1, face->type, 0, 0, expected, 1, face->type, 0, 0, MPI_COMM_SELF,
                 MPI_STATUS_IGNORE);
    MPI_Type_free(&face->type);
    return holds(face->into, expected);
}

static void check_faces(int count, int round)
{
    for (int i = 0; i < count; i++)
        REQUIRE(is_right(i, round), "round %d: face %d of %d is wrong", round, i, count);
}

/* Which of two ranks makes the copies of both. */
static bool copies(void)
{
    int pids[2] = {0}, own = getpid();
    if (check_size == 2)
        MPI_Allgather(&own, 1, MPI_INT, pids, 1, MPI_INT, MPI_COMM_WORLD);
    return own == (pids[0] < pids[1] ? pids[0] : pids[1]);
}

/* The launches of all ranks for an exchange of six faces with words of different sizes. */
static unsigned long launches_of_six(bool collective, int round, bool works)
{
    for (int i = 0; i < SIX; i++) {
        MPI_Datatype type;
        int word = 1 << (i % 5);
        MPI_Type_vector(500 + 100 * i, word, 3 * word, MPI_BYTE, &type);
        MPI_Type_commit(&type);
        set_face(i, round, type, true, true);
    }
    unsigned long before = towpath_stub_calls("cuLaunchKernel");
    MPI_Barrier(MPI_COMM_WORLD);
    exchange(collective, SIX, works);
    unsigned long launches = towpath_stub_calls("cuLaunchKernel") - before;
    check_faces(SIX, round);
    MPI_Allreduce(MPI_IN_PLACE, &launches, 1, MPI_UNSIGNED_LONG, MPI_SUM, MPI_COMM_WORLD);
    return launches;
}

static void six_faces(bool collective, unsigned long wanted)
{
    unsigned long fewest = -1ul;
    bool works = copies();
    for (int round = 0; round < COUNTED; round++) {
        unsigned long launches = launches_of_six(collective, round, works);
        fewest = launches < fewest ? launches : fewest;
    }
    CHECK(!wanted || fewest == wanted, "%lu launches, %lu expected (%s)", fewest, wanted,
          collective ? "collective" : "messages");
}

static void random_faces(unsigned *random, int round)
{
    int count = between(random, 1, MOST_FACES);
    for (int i = 0; i < count; i++) {
        MPI_Datatype type = random_type(random);
        int spaces = between(random, 0, 7) ^ check_rank % 2;
        set_face(i, round, type, spaces != 0, spaces != 1);
    }
    exchange(between(random, 0, 1), count, between(random, 0, 9) == check_rank);
    check_faces(count, round);
}

int main(int count, char **words)
{
    start(&count, &words);
    start_device(check_rank);
    unsigned random = random_from(seed_of(count, words));
    for (int device = 0; device < 2; device++) {
        sent[device] = memory_of(device, (size_t)MOST_FACES * LARGEST);
        received[device] = memory_of(device, (size_t)MOST_FACES * LARGEST);
    }
    expected = malloc(LARGEST);
    packed = malloc(LARGEST);
    for (int collective = 0; collective < 2; collective++)
        six_faces(collective, count > 3 ? strtoul(words[3], NULL, 10) : 0);
    for (int round = 0; round < rounds_of(count, words); round++)
        random_faces(&random, round);
    free(packed);
    free(expected);
    return finish();
}
