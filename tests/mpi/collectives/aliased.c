/*
 * A send and a receive buffer that share bytes are an error of class MPI_ERR_BUFFER. MPI 5.0, 6.2
 * With "allowed": buffers that begin at the same address and share nothing. With "root": only the root passes such buffers; the job
 * ends instead of waiting for it.
 */
#include "check.h"

static int data[64];

static void reductions(MPI_Comm comm)
{
    MPI_Request request = MPI_REQUEST_NULL;
    FAILS(MPI_Allreduce(data, data, 3, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER);
    FAILS(MPI_Iallreduce(data, data, 3, MPI_INT, MPI_SUM, comm, &request), MPI_ERR_BUFFER);
    FAILS(MPI_Scan(data, data, 3, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER);
    FAILS(MPI_Reduce(data, data, 3, MPI_INT, MPI_SUM, 0, MPI_COMM_SELF), MPI_ERR_BUFFER);
    FAILS(MPI_Reduce_scatter_block(data, data, 3, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER);
    FAILS(MPI_Reduce_local(data, data, 3, MPI_INT, MPI_SUM), MPI_ERR_BUFFER);
    CHECK(request == MPI_REQUEST_NULL, "a failed call has written a request");
}

static void movements(MPI_Comm comm)
{
    FAILS(MPI_Gather(data, 2, MPI_INT, data, 2, MPI_INT, 0, MPI_COMM_SELF), MPI_ERR_BUFFER);
    FAILS(MPI_Scatter(data, 2, MPI_INT, data, 2, MPI_INT, 0, MPI_COMM_SELF), MPI_ERR_BUFFER);
    FAILS(MPI_Alltoall(data, 2, MPI_INT, data, 2, MPI_INT, comm), MPI_ERR_BUFFER);
    if (check_rank == 0)
        FAILS(MPI_Allgather(data, 2, MPI_INT, data, 2, MPI_INT, MPI_COMM_SELF), MPI_ERR_BUFFER);
}

/* Types and displacements are looked at as well. */
static void by_layout(MPI_Comm comm)
{
    int ones[8], even[8], odd[8];
    MPI_Datatype twice;
    for (int i = 0; i < 8; i++) {
        ones[i] = 1;
        even[i] = 2 * i;
        odd[i] = 2 * i + 1;
    }
    FAILS(MPI_Alltoallv(data, ones, even, MPI_INT, data, ones, even, MPI_INT, comm), MPI_ERR_BUFFER);
    FAILS(MPI_Allgatherv(data, 2, MPI_INT, data, ones, odd, MPI_INT, comm), MPI_ERR_BUFFER);
    CALL(MPI_Type_vector(2, 1, 2, MPI_INT, &twice));
    CALL(MPI_Type_commit(&twice));
    FAILS(MPI_Alltoall(data, 1, twice, data, 2, MPI_INT, comm), MPI_ERR_BUFFER);
    CALL(MPI_Type_free(&twice));
}

static void allowed(MPI_Comm comm)
{
    int ones[8], even[8], odd[8];
    for (int i = 0; i < 8; i++) {
        ones[i] = 1;
        even[i] = 2 * i;
        odd[i] = 2 * i + 1;
    }
    for (int i = 0; i < 64; i++)
        data[i] = 100 * check_rank + i;
    CALL(MPI_Allreduce(data, data, 0, MPI_INT, MPI_SUM, comm));
    CALL(MPI_Alltoall(data, 0, MPI_INT, data, 0, MPI_INT, comm));
    CALL(MPI_Alltoallv(data, ones, even, MPI_INT, data, ones, odd, MPI_INT, comm));
    for (int i = 0; i < check_size; i++)
        CHECK(data[2 * i + 1] == 100 * i + 2 * check_rank, "from rank %d: %d", i, data[2 * i + 1]);
    /* Absolute addresses: the buffer is MPI_BOTTOM on both sides. */
    MPI_Datatype from, to;
    MPI_Aint place;
    CALL(MPI_Get_address(data + 8, &place));
    CALL(MPI_Type_create_hindexed_block(1, 1, &place, MPI_INT, &from));
    CALL(MPI_Get_address(data + 16, &place));
    CALL(MPI_Type_create_hindexed_block(1, 1, &place, MPI_INT, &to));
    CALL(MPI_Type_commit(&from));
    CALL(MPI_Type_commit(&to));
    data[8] = 77;
    CALL(MPI_Allgather(MPI_BOTTOM, 1, from, MPI_BOTTOM, 1, to, MPI_COMM_SELF));
    CHECK(data[16] == 77, "%d came through absolute addresses", data[16]);
    CALL(MPI_Type_free(&from));
    CALL(MPI_Type_free(&to));
}

int main(int argc, char **argv)
{
    const char *part = argc > 1 ? argv[1] : "";
    start(&argc, &argv);
    if (strcmp(part, "root") == 0) {
        MPI_Gather(data, 2, MPI_INT, check_rank ? data + 2 : data, 2, MPI_INT, 0, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        return finish();
    }
    CALL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    CALL(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    if (strcmp(part, "allowed") == 0)
        allowed(MPI_COMM_WORLD);
    else if (strcmp(part, "layout") == 0)
        by_layout(MPI_COMM_WORLD);
    else {
        reductions(MPI_COMM_WORLD);
        movements(MPI_COMM_WORLD);
    }
    return finish();
}
