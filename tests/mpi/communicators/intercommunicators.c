/* Intercommunicators: create, remote group, point-to-point across, merge in both orders, dup and split. MPI 5.0, 7.6 */
#include "check.h"

static int low; /* am I in the first half? */

static void across(MPI_Comm inter, int remote)
{
    int rank, in = -1;
    MPI_Status status;
    CALL(MPI_Comm_rank(inter, &rank));
    for (int peer = 0; peer < remote; peer++) {
        int out = check_rank * 100 + peer;
        MPI_Request request;
        CALL(MPI_Isend(&out, 1, MPI_INT, peer, 3, inter, &request));
        CALL(MPI_Recv(&in, 1, MPI_INT, peer, 3, inter, &status));
        CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK(in % 100 == rank && status.MPI_SOURCE == peer, "value %d from %d", in, status.MPI_SOURCE);
        CHECK(low ? in / 100 >= check_size / 2 : in / 100 < check_size / 2, "a message of the own group: %d", in);
    }
}

static void queries(MPI_Comm inter, int local, int remote)
{
    int flag = 0, size = -1, result;
    MPI_Group group, world;
    CALL(MPI_Comm_test_inter(inter, &flag));
    CHECK(flag, "not an intercommunicator");
    CALL(MPI_Comm_test_inter(MPI_COMM_WORLD, &flag));
    CHECK(!flag, "MPI_COMM_WORLD is an intercommunicator");
    CALL(MPI_Comm_size(inter, &size));
    CHECK(size == local, "local size %d, expected %d", size, local);
    CALL(MPI_Comm_remote_size(inter, &size));
    CHECK(size == remote, "remote size %d, expected %d", size, remote);
    CALL(MPI_Comm_remote_group(inter, &group));
    CALL(MPI_Comm_group(MPI_COMM_WORLD, &world));
    for (int i = 0; i < remote; i++) {
        int rank = -1;
        CALL(MPI_Group_translate_ranks(group, 1, &i, world, &rank));
        CHECK(rank == (low ? check_size / 2 + i : i), "remote rank %d is %d in the world", i, rank);
    }
    CALL(MPI_Group_free(&group));
    CALL(MPI_Group_free(&world));
    CALL(MPI_Comm_compare(inter, MPI_COMM_WORLD, &result));
    CHECK(result == MPI_UNEQUAL, "compares with MPI_COMM_WORLD as %d", result);
}

static void merge(MPI_Comm inter, int local, int remote)
{
    for (int high_first = 0; high_first < 2; high_first++) {
        MPI_Comm merged;
        int rank, size, sum, one = 1, first = high_first ? !low : low;
        CALL(MPI_Intercomm_merge(inter, !first, &merged));
        CALL(MPI_Comm_rank(merged, &rank));
        CALL(MPI_Comm_size(merged, &size));
        int own = low ? check_rank : check_rank - check_size / 2;
        CHECK(size == local + remote && rank == (first ? own : remote + own), "merged rank %d of %d", rank, size);
        CALL(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, merged));
        CHECK(sum == check_size, "sum %d", sum);
        CALL(MPI_Comm_free(&merged));
    }
}

/* MPI_Comm_idup returns before the other group has called it: that group waits for word from here first. */
static void nonblocking(MPI_Comm inter, int local, int remote)
{
    MPI_Comm copies[3];
    MPI_Request requests[3];
    int word = 1, rank, result;
    CALL(MPI_Comm_rank(inter, &rank));
    if (!low)
        CALL(MPI_Recv(&word, 1, MPI_INT, 0, 7, inter, MPI_STATUS_IGNORE));
    for (int i = 0; i < 3; i++)
        CALL(MPI_Comm_idup(inter, &copies[i], &requests[i]));
    if (low && rank == 0)
        for (int peer = 0; peer < remote; peer++)
            CALL(MPI_Send(&word, 1, MPI_INT, peer, 7, inter));
    for (int i = 2; i >= 0; i--)
        CALL(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
    for (int i = 0; i < 3; i++) {
        CALL(MPI_Comm_compare(inter, copies[i], &result));
        CHECK(result == MPI_CONGRUENT, "a duplicate compares as %d", result);
        queries(copies[i], local, remote);
        across(copies[i], remote);
        merge(copies[i], local, remote);
        CALL(MPI_Barrier(copies[i]));
    }
    /* Every copy has contexts of its own: messages of the one do not match on another. */
    int in[2] = {0, 0}, out[2] = {1, 2}, peer = rank % remote;
    if (local == remote) {
        CALL(MPI_Irecv(&in[1], 1, MPI_INT, peer, 1, copies[1], &requests[0]));
        CALL(MPI_Irecv(&in[0], 1, MPI_INT, peer, 1, copies[0], &requests[1]));
        CALL(MPI_Send(&out[0], 1, MPI_INT, peer, 1, copies[0]));
        CALL(MPI_Send(&out[1], 1, MPI_INT, peer, 1, copies[1]));
        CALL(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        CHECK(in[0] == 1 && in[1] == 2, "messages of two copies were mixed: %d %d", in[0], in[1]);
    }
    for (int i = 0; i < 3; i++)
        CALL(MPI_Comm_free(&copies[i]));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Comm half, inter, copy;
    int half_size = check_size / 2, result;
    low = check_rank < half_size;
    int local = low ? half_size : check_size - half_size, remote = check_size - local;
    CALL(MPI_Comm_split(MPI_COMM_WORLD, low, 0, &half));
    CALL(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, low ? half_size : 0, 12, &inter));
    queries(inter, local, remote);
    across(inter, remote);
    merge(inter, local, remote);
    CALL(MPI_Comm_dup(inter, &copy));
    CALL(MPI_Comm_compare(inter, copy, &result));
    CHECK(result == MPI_CONGRUENT, "a duplicate compares as %d", result);
    queries(copy, local, remote);
    across(copy, remote);
    CALL(MPI_Comm_free(&copy));
    nonblocking(inter, local, remote);
    /* Split by even and odd: each colour has ranks of both sides, or gets nothing. */
    int rank, size = -1;
    CALL(MPI_Comm_rank(inter, &rank));
    CALL(MPI_Comm_split(inter, rank % 2, rank, &copy));
    if (copy != MPI_COMM_NULL) {
        CALL(MPI_Comm_remote_size(copy, &size));
        CHECK(size == (remote + 1 - rank % 2) / 2, "remote size %d after the split", size);
        CALL(MPI_Comm_free(&copy));
    }
    CALL(MPI_Barrier(inter));
    CALL(MPI_Comm_free(&inter));
    CALL(MPI_Comm_free(&half));
    return finish();
}
