/* MPI_Isend, Ibsend, Issend, Irsend and Irecv between all pairs, completed in an order that differs from the order of start. MPI 5.0, 3.7 */
#include "pattern.h"

enum { EACH = 16, BYTES = 70000 };

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int n = check_size * EACH;
    MPI_Request *sends = malloc(sizeof *sends * (size_t)n), *receives = malloc(sizeof *receives * (size_t)n);
    char *out = malloc((size_t)BYTES * EACH), *in = malloc((size_t)BYTES * (size_t)n);
    int space = check_size * EACH * (BYTES / 4 + MPI_BSEND_OVERHEAD);
    void *attached = malloc((size_t)space);
    CALL(MPI_Buffer_attach(attached, space));
    for (int i = 0; i < EACH; i++)
        pattern_fill(out + (size_t)i * BYTES, BYTES, (unsigned)(check_rank * 100 + i));
    for (int peer = 0; peer < check_size; peer++)
        for (int i = 0; i < EACH; i++)
            CALL(MPI_Irecv(in + ((size_t)peer * EACH + (size_t)i) * BYTES, BYTES, MPI_BYTE, peer, i, MPI_COMM_WORLD,
                           &receives[peer * EACH + i]));
    MPI_Barrier(MPI_COMM_WORLD); /* all receives are posted: ready sends are allowed */
    for (int i = EACH - 1; i >= 0; i--)
        for (int peer = 0; peer < check_size; peer++) {
            int bytes = i % 2 ? BYTES / 4 - i : i;
            MPI_Request *request = &sends[peer * EACH + i];
            char *from = out + (size_t)i * BYTES;
            switch (i % 4) {
            case 0: CALL(MPI_Isend(from, bytes, MPI_BYTE, peer, i, MPI_COMM_WORLD, request)); break;
            case 1: CALL(MPI_Issend(from, bytes, MPI_BYTE, peer, i, MPI_COMM_WORLD, request)); break;
            case 2: CALL(MPI_Irsend(from, bytes, MPI_BYTE, peer, i, MPI_COMM_WORLD, request)); break;
            default: CALL(MPI_Ibsend(from, bytes, MPI_BYTE, peer, i, MPI_COMM_WORLD, request));
            }
        }
    for (int peer = check_size - 1; peer >= 0; peer--)
        for (int i = 0; i < EACH; i++) {
            MPI_Status status;
            int count, bytes = i % 2 ? BYTES / 4 - i : i;
            CALL(MPI_Wait(&receives[peer * EACH + i], &status));
            CALL(MPI_Get_count(&status, MPI_BYTE, &count));
            CHECK(receives[peer * EACH + i] == MPI_REQUEST_NULL, "request not null after MPI_Wait");
            CHECK(count == bytes && status.MPI_SOURCE == peer && status.MPI_TAG == i, "count %d of %d source %d tag %d", count, bytes,
                  status.MPI_SOURCE, status.MPI_TAG);
            CHECK_PATTERN(in + ((size_t)peer * EACH + (size_t)i) * BYTES, (size_t)bytes, (unsigned)(peer * 100 + i));
        }
    CALL(MPI_Waitall(n, sends, MPI_STATUSES_IGNORE));
    for (int i = 0; i < n; i++)
        CHECK(sends[i] == MPI_REQUEST_NULL, "send %d not null after MPI_Waitall", i);
    int size;
    CALL(MPI_Buffer_detach(&attached, &size));
    free(attached);
    free(sends);
    free(receives);
    free(out);
    free(in);
    return finish();
}
