/* MPI_Alloc_mem gives memory that can be written, sent and freed, of any size, with hints; alignment can be asked for. MPI 5.0, 9.2 */
#include "pattern.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    static const MPI_Aint sizes[] = {1, 100, 4096, 1 << 20, 64 << 20};
    for (int i = 0; i < 5; i++) {
        char *memory = NULL, *second = NULL;
        CALL(MPI_Alloc_mem(sizes[i], MPI_INFO_NULL, &memory));
        CALL(MPI_Alloc_mem(sizes[i], MPI_INFO_NULL, &second));
        REQUIRE(memory && second && memory != second, "no memory");
        CHECK((MPI_Aint)memory % (MPI_Aint)sizeof(double) == 0, "memory at %p", (void *)memory);
        pattern_fill(memory, (size_t)sizes[i], (unsigned)i);
        CALL(MPI_Sendrecv(memory, (int)sizes[i], MPI_BYTE, check_rank, 1, second, (int)sizes[i], MPI_BYTE, check_rank, 1, MPI_COMM_WORLD,
                          MPI_STATUS_IGNORE));
        CHECK_PATTERN(second, (size_t)sizes[i], (unsigned)i);
        CALL(MPI_Free_mem(memory));
        CALL(MPI_Free_mem(second));
    }
    MPI_Info info;
    char *memory = NULL;
    CALL(MPI_Info_create(&info));
    CALL(MPI_Info_set(info, "mpi_minimum_memory_alignment", "4096"));
    CALL(MPI_Alloc_mem(100, info, &memory));
    CHECK((MPI_Aint)memory % 4096 == 0, "memory at %p in spite of mpi_minimum_memory_alignment 4096", (void *)memory);
    CALL(MPI_Free_mem(memory));
    CALL(MPI_Info_free(&info));
    return finish();
}
