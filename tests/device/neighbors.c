/*
 * Neighbourhood collectives on a ring with buffers in device memory, blocking, nonblocking and
 * persistent. Each rank sends `count` bytes to each neighbour; patterns name sender and direction.
 */
#include "memory.h"

enum { MOST = 300000 };

static MPI_Comm ring;
static int sides[2];

static unsigned seed_of(int rank, int direction)
{
    return (unsigned)(rank * 2 + direction);
}

/* Starts the call `which`; way 0 blocking, 1 nonblocking, 2 persistent. */
static void call(int which, int way, void *from, void *to, int count)
{
    int counts[2] = {count, count}, places[2] = {0, count};
    MPI_Aint bytes[2] = {0, count};
    MPI_Datatype types[2] = {MPI_BYTE, MPI_BYTE};
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Datatype t = MPI_BYTE;
    switch (which * 3 + way) {
    case 0:
        CALL(MPI_Neighbor_alltoall(from, count, t, to, count, t, ring));
        break;
    case 1:
        CALL(MPI_Ineighbor_alltoall(from, count, t, to, count, t, ring, &request));
        break;
    case 2:
        CALL(MPI_Neighbor_alltoall_init(from, count, t, to, count, t, ring, MPI_INFO_NULL,
                                        &request));
        break;
    case 3:
        CALL(MPI_Neighbor_alltoallv(from, counts, places, t, to, counts, places, t, ring));
        break;
    case 4:
        CALL(MPI_Ineighbor_alltoallv(from, counts, places, t, to, counts, places, t, ring,
                                     &request));
        break;
    case 5:
        CALL(MPI_Neighbor_alltoallv_init(from, counts, places, t, to, counts, places, t, ring,
                                         MPI_INFO_NULL, &request));
        break;
    case 6:
        CALL(MPI_Neighbor_alltoallw(from, counts, bytes, types, to, counts, bytes, types, ring));
        break;
    case 7:
        CALL(MPI_Ineighbor_alltoallw(from, counts, bytes, types, to, counts, bytes, types, ring,
                                     &request));
        break;
    case 8:
        CALL(MPI_Neighbor_alltoallw_init(from, counts, bytes, types, to, counts, bytes, types, ring,
                                         MPI_INFO_NULL, &request));
        break;
    case 9:
        CALL(MPI_Neighbor_allgather(from, count, t, to, count, t, ring));
        break;
    case 10:
        CALL(MPI_Ineighbor_allgather(from, count, t, to, count, t, ring, &request));
        break;
    default:
        CALL(MPI_Neighbor_allgather_init(from, count, t, to, count, t, ring, MPI_INFO_NULL,
                                         &request));
    }
    if (way == 2)
        CALL(MPI_Start(&request));
    CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    if (way == 2)
        MPI_Request_free(&request);
}

static void checked(int which, int way, int count, bool from_device, bool to_device)
{
    Memory from = memory_of(from_device, 2 * (size_t)count);
    Memory to = pattern_in(to_device, 2 * (size_t)count, 999);
    unsigned char *bytes = malloc(2 * (size_t)count);
    pattern_fill(bytes, count, seed_of(check_rank, 0));
    pattern_fill(bytes + count, count, seed_of(check_rank, 1));
    write_memory(from, bytes);
    call(which, way, from.bytes, to.bytes, count);
    /* What the left neighbour sends to its right comes in the first block; allgather's is alike. */
    bool gathers = which == 3;
    unsigned left = seed_of(sides[0], gathers ? 0 : 1), right = seed_of(sides[1], 0);
    long wrong = first_wrong(to, 0, count, left, 0);
    CHECK(wrong < 0, "call %d, way %d: byte %ld of the first block", which, way, wrong);
    wrong = first_wrong(to, count, count, right, 0);
    CHECK(wrong < 0, "call %d, way %d: byte %ld of the second block", which, way, wrong);
    free(bytes);
    free_memory(from);
    free_memory(to);
}

int main(int count, char **words)
{
    int periodic = 1;
    start(&count, &words);
    start_device(check_rank);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &check_size, &periodic, 0, &ring);
    MPI_Cart_shift(ring, 0, 1, &sides[0], &sides[1]);
    for (int length = 1; length < MOST; length *= 23)
        for (int which = 0; which < 4; which++)
            for (int way = 0; way < 3; way++)
                for (int spaces = 1; spaces < 4; spaces++)
                    checked(which, way, length, spaces & 1, spaces & 2);
    MPI_Comm_free(&ring);
    return finish();
}
