/* Every pair exchanges messages of many sizes, around each power of two up to 4 MiB, both directions at the same time. */
#include "pattern.h"

enum { LARGEST = (4 << 20) + 1 };

static void exchange(int peer, size_t bytes, char *out, char *in)
{
    unsigned mine = (unsigned)(check_rank * 131 + peer), other = (unsigned)(peer * 131 + check_rank);
    MPI_Request requests[2];
    MPI_Status statuses[2];
    pattern_fill(out, bytes, mine);
    memset(in, 0, bytes);
    CALL(MPI_Irecv(in, (int)bytes, MPI_BYTE, peer, 5, MPI_COMM_WORLD, &requests[0]));
    CALL(MPI_Isend(out, (int)bytes, MPI_BYTE, peer, 5, MPI_COMM_WORLD, &requests[1]));
    CALL(MPI_Waitall(2, requests, statuses));
    int count;
    CALL(MPI_Get_count(&statuses[0], MPI_BYTE, &count));
    CHECK((size_t)count == bytes, "%d of %zu bytes from %d", count, bytes, peer);
    CHECK_PATTERN(in, bytes, other);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    char *out = malloc(LARGEST), *in = malloc(LARGEST);
    for (int distance = 1; distance < check_size; distance++) {
        int peer = (distance - check_rank + check_size) % check_size;
        for (size_t power = 1; power <= 4 << 20; power *= 2)
            for (int difference = -1; difference <= 1; difference++)
                if (peer != check_rank)
                    exchange(peer, power + (size_t)difference, out, in);
    }
    free(out);
    free(in);
    return finish();
}
