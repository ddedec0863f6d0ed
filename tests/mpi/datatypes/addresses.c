/* Absolute addresses: MPI_BOTTOM with displacements from MPI_Get_address, and arithmetic on addresses. MPI 5.0, 5.1.5 and 5.1.12 */
#include "../check.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    static int first = 11;
    double on_stack = 2.5, back_double = 0;
    int *on_heap = malloc(3 * sizeof(int)), back_first = 0, back_heap[3] = {0};
    on_heap[0] = 7, on_heap[1] = 8, on_heap[2] = 9;
    MPI_Aint out[3], in[3];
    MPI_Datatype from, to, types[] = {MPI_INT, MPI_DOUBLE, MPI_INT};
    int lengths[] = {1, 1, 3}, peer = check_size - 1 - check_rank;
    CALL(MPI_Get_address(&first, &out[0]));
    CALL(MPI_Get_address(&on_stack, &out[1]));
    CALL(MPI_Get_address(on_heap, &out[2]));
    CALL(MPI_Get_address(&back_first, &in[0]));
    CALL(MPI_Get_address(&back_double, &in[1]));
    CALL(MPI_Get_address(back_heap, &in[2]));
    CALL(MPI_Type_create_struct(3, lengths, out, types, &from));
    CALL(MPI_Type_commit(&from));
    CALL(MPI_Type_create_struct(3, lengths, in, types, &to));
    CALL(MPI_Type_commit(&to));
    MPI_Request request;
    CALL(MPI_Isend(MPI_BOTTOM, 1, from, peer, 1, MPI_COMM_WORLD, &request));
    CALL(MPI_Recv(MPI_BOTTOM, 1, to, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(back_first == 11 && back_double == 2.5 && back_heap[0] == 7 && back_heap[2] == 9, "received %d, %f, %d, %d", back_first, back_double, back_heap[0],
          back_heap[2]);
    back_first = 0;
    int position = 0;
    char packed[64];
    CALL(MPI_Pack(MPI_BOTTOM, 1, from, packed, sizeof packed, &position, MPI_COMM_WORLD));
    CHECK(position == 24, "packed %d bytes", position);
    position = 0;
    CALL(MPI_Unpack(packed, 24, &position, MPI_BOTTOM, 1, to, MPI_COMM_WORLD));
    CHECK(back_first == 11, "unpacked %d", back_first);
    /* A collective from absolute addresses. */
    back_first = check_rank == 0 ? 77 : 0;
    CALL(MPI_Bcast(MPI_BOTTOM, 1, to, 0, MPI_COMM_WORLD));
    CHECK(back_first == 77, "the broadcast left %d", back_first);
    CALL(MPI_Type_free(&from));
    CALL(MPI_Type_free(&to));
    MPI_Aint difference = MPI_Aint_diff(out[2], MPI_Aint_add(out[2], -8));
    CHECK(difference == 8, "difference %ld", (long)difference);
    CHECK(MPI_Aint_add(out[2], 4) == (MPI_Aint)(on_heap + 1), "addition");
    free(on_heap);
    return finish();
}
