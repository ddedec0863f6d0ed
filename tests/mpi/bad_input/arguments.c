/* Wrong ranks, roots, tags, counts and buffers give the right error class, and nothing is corrupted. */
#include "check.h"

static int value[4];

static void point_to_point(MPI_Comm comm)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    int flag, *top;
    CALL(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &top, &flag));
    static const int bad_ranks[] = {-17, 1 << 30};
    for (int i = 0; i < 3; i++) {
        int rank = i < 2 ? bad_ranks[i] : check_size;
        FAILS(MPI_Send(value, 1, MPI_INT, rank, 1, comm), MPI_ERR_RANK);
        FAILS(MPI_Isend(value, 1, MPI_INT, rank, 1, comm, &request), MPI_ERR_RANK);
        FAILS(MPI_Ssend(value, 1, MPI_INT, rank, 1, comm), MPI_ERR_RANK);
        FAILS(MPI_Recv(value, 1, MPI_INT, rank, 1, comm, &status), MPI_ERR_RANK);
        FAILS(MPI_Irecv(value, 1, MPI_INT, rank, 1, comm, &request), MPI_ERR_RANK);
        FAILS(MPI_Probe(rank, 1, comm, &status), MPI_ERR_RANK);
        FAILS(MPI_Iprobe(rank, 1, comm, &flag, &status), MPI_ERR_RANK);
        FAILS(MPI_Send_init(value, 1, MPI_INT, rank, 1, comm, &request), MPI_ERR_RANK);
        FAILS(MPI_Sendrecv(value, 1, MPI_INT, rank, 1, value + 1, 1, MPI_INT, 0, 1, comm, &status), MPI_ERR_RANK);
    }
    FAILS(MPI_Send(value, 1, MPI_INT, MPI_ANY_SOURCE, 1, comm), MPI_ERR_RANK);
    FAILS(MPI_Send(value, 1, MPI_INT, 0, MPI_ANY_TAG, comm), MPI_ERR_TAG);
    FAILS(MPI_Send(value, 1, MPI_INT, 0, -4, comm), MPI_ERR_TAG);
    FAILS(MPI_Recv(value, 1, MPI_INT, 0, -4, comm, &status), MPI_ERR_TAG);
    if (*top < 2147483647)
        FAILS(MPI_Send(value, 1, MPI_INT, 0, *top + 1, comm), MPI_ERR_TAG);
    FAILS(MPI_Send(value, -1, MPI_INT, 0, 1, comm), MPI_ERR_COUNT);
    FAILS(MPI_Recv(value, -1, MPI_INT, 0, 1, comm, &status), MPI_ERR_COUNT);
    FAILS(MPI_Send(value, 1, MPI_DATATYPE_NULL, 0, 1, comm), MPI_ERR_TYPE);
    FAILS(MPI_Send(value, 1, MPI_INT, 0, 1, MPI_COMM_NULL), MPI_ERR_COMM);
    FAILS(MPI_Recv(value, 1, MPI_INT, 0, 1, MPI_COMM_NULL, &status), MPI_ERR_COMM);
    CHECK(request == MPI_REQUEST_NULL, "a failed call has written a request");
}

/* A complete request, but nowhere to write which one it is. */
static void no_indices(MPI_Comm comm)
{
    MPI_Request request;
    int ended;
    CALL(MPI_Irecv(value, 1, MPI_INT, check_rank, 1, comm, &request));
    CALL(MPI_Send(value + 1, 1, MPI_INT, check_rank, 1, comm));
    FAILS(MPI_Waitsome(1, &request, &ended, NULL, MPI_STATUSES_IGNORE), MPI_ERR_ARG);
    FAILS(MPI_Testsome(1, &request, &ended, NULL, MPI_STATUSES_IGNORE), MPI_ERR_ARG);
    CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void collectives(MPI_Comm comm)
{
    FAILS(MPI_Bcast(value, 1, MPI_INT, check_size, comm), MPI_ERR_ROOT);
    FAILS(MPI_Bcast(value, 1, MPI_INT, -9, comm), MPI_ERR_ROOT);
    FAILS(MPI_Reduce(value, value + 1, 1, MPI_INT, MPI_SUM, check_size, comm), MPI_ERR_ROOT);
    FAILS(MPI_Gather(value, 1, MPI_INT, value, 1, MPI_INT, -9, comm), MPI_ERR_ROOT);
    FAILS(MPI_Bcast(value, -1, MPI_INT, 0, comm), MPI_ERR_COUNT);
    FAILS(MPI_Allreduce(value, value + 1, -1, MPI_INT, MPI_SUM, comm), MPI_ERR_COUNT);
    FAILS(MPI_Allreduce(value, value + 1, 1, MPI_INT, MPI_OP_NULL, comm), MPI_ERR_OP);
    FAILS(MPI_Allreduce(value, value + 1, 1, MPI_DATATYPE_NULL, MPI_SUM, comm), MPI_ERR_TYPE);
    FAILS(MPI_Allreduce(value, value + 1, 1, MPI_FLOAT, MPI_BAND, comm), MPI_ERR_OP);
    FAILS(MPI_Barrier(MPI_COMM_NULL), MPI_ERR_COMM);
}

static void objects(MPI_Comm comm)
{
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Group group, world;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Request request = MPI_REQUEST_NULL;
    int dims[1] = {check_size + 1}, periods[1] = {0}, ranks[2] = {0, 0};
    FAILS(MPI_Comm_dup(MPI_COMM_NULL, &made), MPI_ERR_COMM);
    FAILS_EITHER(MPI_Cart_create(comm, 1, dims, periods, 0, &made), MPI_ERR_ARG, MPI_ERR_DIMS);
    FAILS_EITHER(MPI_Cartdim_get(comm, dims), MPI_ERR_TOPOLOGY, MPI_ERR_COMM);
    CALL(MPI_Comm_group(comm, &world));
    ranks[0] = check_size;
    FAILS(MPI_Group_incl(world, 1, ranks, &group), MPI_ERR_RANK);
    if (check_size > 1) {
        ranks[0] = ranks[1] = 1;
        FAILS_EITHER(MPI_Group_incl(world, 2, ranks, &group), MPI_ERR_RANK, MPI_ERR_ARG);
    }
    FAILS(MPI_Group_size(MPI_GROUP_NULL, ranks), MPI_ERR_GROUP);
    CALL(MPI_Group_free(&world));
    FAILS_EITHER(MPI_Type_contiguous(-1, MPI_INT, &type), MPI_ERR_COUNT, MPI_ERR_ARG);
    FAILS(MPI_Type_contiguous(2, MPI_DATATYPE_NULL, &type), MPI_ERR_TYPE);
    FAILS(MPI_Type_commit(&type), MPI_ERR_TYPE);
    FAILS_EITHER(MPI_Start(&request), MPI_ERR_REQUEST, MPI_ERR_ARG);
    FAILS_EITHER(MPI_Request_free(&request), MPI_ERR_REQUEST, MPI_ERR_ARG);
    FAILS_EITHER(MPI_Cancel(&request), MPI_ERR_REQUEST, MPI_ERR_ARG);
    CHECK(made == MPI_COMM_NULL && type == MPI_DATATYPE_NULL, "a failed call has written a handle");
}

/* Room for the packed bytes is promised, but the buffer is NULL. */
static void packing(MPI_Comm comm)
{
    int position = 0;
    MPI_Aint place = 0;
    FAILS_EITHER(MPI_Pack(value, 4, MPI_INT, NULL, 64, &position, comm), MPI_ERR_ARG,
                 MPI_ERR_BUFFER);
    FAILS_EITHER(MPI_Unpack(NULL, 64, &position, value, 4, MPI_INT, comm), MPI_ERR_ARG,
                 MPI_ERR_BUFFER);
    FAILS_EITHER(MPI_Pack_external("external32", value, 4, MPI_INT, NULL, 64, &place), MPI_ERR_ARG,
                 MPI_ERR_BUFFER);
    FAILS_EITHER(MPI_Unpack_external("external32", NULL, 64, &place, value, 4, MPI_INT),
                 MPI_ERR_ARG, MPI_ERR_BUFFER);
    CHECK(position == 0 && place == 0, "a failed call has moved the position to %d or %ld",
          position, (long)place);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    CALL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    CALL(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    point_to_point(MPI_COMM_WORLD);
    no_indices(MPI_COMM_WORLD);
    collectives(MPI_COMM_WORLD);
    objects(MPI_COMM_WORLD);
    packing(MPI_COMM_WORLD);
    /* All is well afterwards. */
    int sum = 0, one = 1;
    CALL(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(sum == check_size, "sum %d", sum);
    return finish();
}
