/* Counts whose product with the extent of the datatype exceeds 63 bits are refused: nothing wraps to a small number. */
#include "check.h"

#include <stdint.h>

/* 2^61 doubles are 2^64 bytes, so 2 more would be 16 bytes. */
#define DOUBLES (((MPI_Count)1 << 61) + 2)

static double in[4], out[4];

static void messages(MPI_Comm comm)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    int me = check_rank;
    FAILS(MPI_Send_c(in, DOUBLES, MPI_DOUBLE, me, 1, comm), MPI_ERR_COUNT);
    FAILS(MPI_Bsend_c(in, DOUBLES, MPI_DOUBLE, me, 1, comm), MPI_ERR_COUNT);
    FAILS(MPI_Isend_c(in, DOUBLES, MPI_DOUBLE, me, 1, comm, &request), MPI_ERR_COUNT);
    FAILS(MPI_Recv_c(out, DOUBLES, MPI_DOUBLE, me, 1, comm, &status), MPI_ERR_COUNT);
    FAILS(MPI_Irecv_c(out, DOUBLES, MPI_DOUBLE, me, 1, comm, &request), MPI_ERR_COUNT);
    FAILS(MPI_Send_init_c(in, DOUBLES, MPI_DOUBLE, me, 1, comm, &request), MPI_ERR_COUNT);
    FAILS(MPI_Sendrecv_replace_c(in, DOUBLES, MPI_DOUBLE, me, 1, me, 1, comm, &status), MPI_ERR_COUNT);
    CHECK(request == MPI_REQUEST_NULL, "a failed call has written a request");
}

/* The bytes fit, but there is no such memory for the copy that MPI makes: an error, not the end of the process. */
static void copies(MPI_Comm comm)
{
    MPI_Status status;
    MPI_Count count = (MPI_Count)1 << 59;
    FAILS_EITHER(MPI_Sendrecv_replace_c(in, count, MPI_DOUBLE, check_rank, 1, check_rank, 1, comm, &status), MPI_ERR_NO_MEM,
                 MPI_ERR_OTHER);
    FAILS(MPI_Bsend_c(in, count, MPI_DOUBLE, check_rank, 1, comm), MPI_ERR_BUFFER);
}

/* The size of the message is compared with that of the buffer before anything is copied. */
static void buffered(MPI_Comm comm)
{
    static char room[4096 + MPI_BSEND_OVERHEAD];
    MPI_Request request = MPI_REQUEST_NULL;
    void *address;
    int size;
    CALL(MPI_Buffer_attach(room, sizeof room));
    for (int shift = 20; shift < 60; shift++)
        FAILS(MPI_Bsend_c(in, (MPI_Count)1 << shift, MPI_DOUBLE, check_rank, 1, comm), MPI_ERR_BUFFER);
    FAILS(MPI_Ibsend_c(in, (MPI_Count)1 << 59, MPI_DOUBLE, check_rank, 1, comm, &request), MPI_ERR_BUFFER);
    CALL(MPI_Bsend(in, 4, MPI_DOUBLE, check_rank, 1, comm));
    CALL(MPI_Recv(out, 4, MPI_DOUBLE, check_rank, 1, comm, MPI_STATUS_IGNORE));
    CALL(MPI_Buffer_detach(&address, &size));
}

static void extents(MPI_Comm comm)
{
    MPI_Datatype wide;
    CALL(MPI_Type_create_resized(MPI_DOUBLE, 0, (MPI_Aint)1 << 60, &wide));
    CALL(MPI_Type_commit(&wide));
    FAILS(MPI_Send(in, 9, wide, check_rank, 1, comm), MPI_ERR_COUNT);
    FAILS(MPI_Bcast(in, 9, wide, 0, comm), MPI_ERR_COUNT);
    CALL(MPI_Type_free(&wide));
}

/* One block fits, all blocks together do not. */
static void blocks(MPI_Comm comm)
{
    MPI_Count count = ((MPI_Count)1 << 60) / check_size + 1;
    FAILS(MPI_Allgather_c(in, 1, MPI_DOUBLE, out, count, MPI_DOUBLE, comm), MPI_ERR_COUNT);
    FAILS(MPI_Alltoall_c(in, count, MPI_DOUBLE, out, 1, MPI_DOUBLE, comm), MPI_ERR_COUNT);
    FAILS(MPI_Reduce_scatter_block_c(in, out, count, MPI_DOUBLE, MPI_SUM, comm), MPI_ERR_COUNT);
    MPI_Count counts[64];
    MPI_Aint zeros[64] = {0}, far[64];
    for (int i = 0; i < check_size; i++) {
        counts[i] = count;
        far[i] = INTPTR_MAX / 4;
    }
    FAILS(MPI_Allgatherv_c(in, 1, MPI_DOUBLE, out, counts, zeros, MPI_DOUBLE, comm), MPI_ERR_COUNT);
    FAILS(MPI_Alltoallv_c(in, counts, zeros, MPI_DOUBLE, out, counts, zeros, MPI_DOUBLE, comm), MPI_ERR_COUNT);
    FAILS(MPI_Reduce_scatter_c(in, out, counts, MPI_DOUBLE, MPI_SUM, comm), MPI_ERR_COUNT);
    for (int i = 0; i < check_size; i++)
        counts[i] = 1;
    FAILS(MPI_Allgatherv_c(in, 1, MPI_DOUBLE, out, counts, far, MPI_DOUBLE, comm), MPI_ERR_ARG);
    /* A displacement beside a count of zero means nothing. */
    for (int i = 0; i < check_size; i++)
        counts[i] = 0;
    CALL(MPI_Alltoallv_c(in, counts, far, MPI_DOUBLE, out, counts, far, MPI_DOUBLE, comm));
}

static void types_and_packing(MPI_Comm comm)
{
    MPI_Datatype type = MPI_DATATYPE_NULL, rest;
    MPI_Status status = {0};
    MPI_Count size, position = 8, huge[1] = {INT64_MAX}, one[1] = {1};
    MPI_Datatype types[1] = {MPI_DOUBLE};
    FAILS(MPI_Type_contiguous_c(DOUBLES, MPI_DOUBLE, &type), MPI_ERR_COUNT);
    FAILS(MPI_Type_vector_c(DOUBLES, 1, 1, MPI_DOUBLE, &type), MPI_ERR_COUNT);
    FAILS(MPI_Type_vector_c(2, 1, DOUBLES, MPI_DOUBLE, &type), MPI_ERR_COUNT);
    FAILS(MPI_Type_create_struct_c(1, huge, one, types, &type), MPI_ERR_COUNT);
    FAILS(MPI_Type_indexed_c(1, huge, one, MPI_DOUBLE, &type), MPI_ERR_COUNT);
    FAILS(MPI_Type_contiguous(-1, MPI_DOUBLE, &type), MPI_ERR_COUNT);
    CHECK(type == MPI_DATATYPE_NULL, "a failed call has written a datatype");
    FAILS(MPI_Pack_size_c(DOUBLES, MPI_DOUBLE, comm, &size), MPI_ERR_COUNT);
    FAILS(MPI_Pack_external_size_c("external32", DOUBLES, MPI_DOUBLE, &size), MPI_ERR_COUNT);
    FAILS(MPI_Pack_c(in, DOUBLES, MPI_DOUBLE, out, sizeof out, &position, comm), MPI_ERR_COUNT);
    position = INT64_MAX;
    FAILS(MPI_Pack_c(in, 1, MPI_DOUBLE, out, sizeof out, &position, comm), MPI_ERR_TRUNCATE);
    FAILS(MPI_Unpack_external_c("external32", in, sizeof in, &position, out, 1, MPI_DOUBLE), MPI_ERR_TRUNCATE);
    CALL(MPI_Type_contiguous(3, MPI_DOUBLE, &rest));
    FAILS(MPI_Status_set_elements_x(&status, rest, DOUBLES), MPI_ERR_COUNT);
    CALL(MPI_Type_free(&rest));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    CALL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    CALL(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    messages(MPI_COMM_WORLD);
    copies(MPI_COMM_WORLD);
    buffered(MPI_COMM_WORLD);
    extents(MPI_COMM_WORLD);
    blocks(MPI_COMM_WORLD);
    types_and_packing(MPI_COMM_WORLD);
    int sum = 0, one = 1;
    CALL(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(sum == check_size, "sum %d", sum);
    return finish();
}
