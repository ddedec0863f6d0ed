/* Every rank sends 64 KiB to every other, several times: the memory in between is bounded, the contents are right. */
#include "pattern.h"

enum { BYTES = 65536 };

int main(int argc, char **argv)
{
    start(&argc, &argv);
    char *out = malloc((size_t)BYTES * (size_t)check_size), *in = malloc((size_t)BYTES * (size_t)check_size);
    for (int round = 0; round < 2; round++) {
        for (int peer = 0; peer < check_size; peer++)
            pattern_fill(out + (size_t)peer * BYTES, BYTES, (unsigned)(check_rank * 1000 + peer + round));
        CALL(MPI_Alltoall(out, BYTES, MPI_BYTE, in, BYTES, MPI_BYTE, MPI_COMM_WORLD));
        for (int peer = 0; peer < check_size; peer++)
            CHECK_PATTERN(in + (size_t)peer * BYTES, BYTES, (unsigned)(peer * 1000 + check_rank + round));
    }
    free(out);
    free(in);
    return finish();
}
