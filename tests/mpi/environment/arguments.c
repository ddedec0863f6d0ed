/* MPI_Init leaves the arguments of the program alone, takes NULL, and every rank knows its processor and its clock. MPI 5.0, 11.2 and 9.6 */
#include "check.h"

int main(int argc, char **argv)
{
    CHECK(argc == 3 && strcmp(argv[1], "--flag=a b") == 0 && strcmp(argv[2], "x") == 0, "arguments changed before MPI_Init");
    MPI_Init(NULL, NULL);
    check_started();
    CHECK(argc == 3 && strcmp(argv[1], "--flag=a b") == 0 && argv[3] == NULL, "arguments changed by MPI_Init");
    char name[MPI_MAX_PROCESSOR_NAME];
    int length = -1;
    CALL(MPI_Get_processor_name(name, &length));
    CHECK(length > 0 && length < MPI_MAX_PROCESSOR_NAME && (int)strlen(name) == length, "processor name of length %d", length);
    double before = MPI_Wtime(), tick = MPI_Wtick();
    CHECK(tick > 0 && tick <= 0.001, "MPI_Wtick is %g", tick);
    double last = before;
    while (last < before + 0.01) {
        double now = MPI_Wtime();
        if (!CHECK(now >= last, "time ran back by %g", last - now))
            break;
        last = now;
    }
    int *rank_of, size = check_size;
    rank_of = malloc(sizeof *rank_of * (size_t)size);
    CALL(MPI_Allgather(&check_rank, 1, MPI_INT, rank_of, 1, MPI_INT, MPI_COMM_WORLD));
    for (int i = 0; i < size; i++)
        CHECK(rank_of[i] == i, "rank %d says it is %d", i, rank_of[i]);
    free(rank_of);
    return finish();
}
