/* More than 2 GiB in one message: by a large count, and by a derived type; the int count of it is MPI_UNDEFINED. MPI 5.0, 3.2.6 */
#include "pattern.h"

enum { BLOCK = 1 << 20 };

int main(int argc, char **argv)
{
    start(&argc, &argv);
    const MPI_Count blocks = 2050, bytes = blocks * BLOCK + 5;
    MPI_Datatype block, repeated;
    CALL(MPI_Type_contiguous(BLOCK, MPI_BYTE, &block));
    /* The same megabyte again and again: a sender needs no 2 GiB of memory. */
    CALL(MPI_Type_create_hvector((int)blocks, 1, 0, block, &repeated));
    CALL(MPI_Type_commit(&block));
    CALL(MPI_Type_commit(&repeated));
    if (check_rank == 0) {
        char *data = malloc(BLOCK);
        pattern_fill(data, BLOCK, 9);
        int lengths[2] = {1, 5};
        MPI_Aint places[2] = {0, 0};
        MPI_Datatype types[2] = {repeated, MPI_BYTE}, whole;
        CALL(MPI_Type_create_struct(2, lengths, places, types, &whole));
        CALL(MPI_Type_commit(&whole));
        CALL(MPI_Send(data, 1, whole, 1, 1, MPI_COMM_WORLD));
        CALL(MPI_Type_free(&whole));
        free(data);
    } else if (check_rank == 1) {
        char *data = malloc((size_t)bytes + 1);
        REQUIRE(data, "no memory for %lld bytes", (long long)bytes);
        data[bytes] = 0x77;
        MPI_Status status;
        MPI_Count count = -1;
        int small = -1;
        CALL(MPI_Recv_c(data, bytes + 1, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &status));
        CALL(MPI_Get_count_c(&status, MPI_BYTE, &count));
        CHECK(count == bytes, "count %lld, expected %lld", (long long)count, (long long)bytes);
        CALL(MPI_Get_count(&status, MPI_BYTE, &small));
        CHECK(small == MPI_UNDEFINED, "int count %d", small);
        CALL(MPI_Get_elements_c(&status, MPI_BYTE, &count));
        CHECK(count == bytes, "elements %lld", (long long)count);
        for (MPI_Count i = 0; i < blocks; i++)
            if (memcmp(data, data + i * BLOCK, BLOCK)) {
                CHECK(0, "block %lld differs", (long long)i);
                break;
            }
        CHECK_PATTERN(data, BLOCK, 9);
        CHECK(memcmp(data, data + blocks * BLOCK, 5) == 0, "the last bytes differ");
        CHECK(data[bytes] == 0x77, "the byte behind the message was written");
        free(data);
    }
    CALL(MPI_Type_free(&block));
    CALL(MPI_Type_free(&repeated));
    return finish();
}
