/* The four blocking send modes deliver the same bytes with the right source, tag and count. MPI 5.0, 3.4 */
#include "pattern.h"

enum { LARGEST = 300000 };

static void send_in_mode(int mode, const char *buffer, int bytes, int tag)
{
    if (mode == 0)
        CALL(MPI_Send(buffer, bytes, MPI_BYTE, 1, tag, MPI_COMM_WORLD));
    else if (mode == 1)
        CALL(MPI_Ssend(buffer, bytes, MPI_BYTE, 1, tag, MPI_COMM_WORLD));
    else if (mode == 2)
        CALL(MPI_Bsend(buffer, bytes, MPI_BYTE, 1, tag, MPI_COMM_WORLD));
    else {
        /* A ready send needs its receive posted: the receiver says so. */
        CALL(MPI_Recv(NULL, 0, MPI_BYTE, 1, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CALL(MPI_Rsend(buffer, bytes, MPI_BYTE, 1, tag, MPI_COMM_WORLD));
    }
}

static void receive(int mode, char *buffer, int bytes, int tag)
{
    MPI_Status status;
    memset(buffer, 0x5a, (size_t)bytes + 1);
    if (mode == 3) {
        MPI_Request request;
        CALL(MPI_Irecv(buffer, bytes, MPI_BYTE, 0, tag, MPI_COMM_WORLD, &request));
        CALL(MPI_Send(NULL, 0, MPI_BYTE, 0, 77, MPI_COMM_WORLD));
        CALL(MPI_Wait(&request, &status));
    } else
        CALL(MPI_Recv(buffer, bytes, MPI_BYTE, 0, tag, MPI_COMM_WORLD, &status));
    int count = -1;
    CALL(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK(count == bytes && status.MPI_SOURCE == 0 && status.MPI_TAG == tag, "count %d of %d, source %d, tag %d of %d", count, bytes,
          status.MPI_SOURCE, status.MPI_TAG, tag);
    CHECK_PATTERN(buffer, (size_t)bytes, (unsigned)tag);
    CHECK(buffer[bytes] == 0x5a, "byte after the message was written (mode %d, %d bytes)", mode, bytes);
}

int main(int argc, char **argv)
{
    static const int sizes[] = {0, 1, 7, 8, 40, 56, 57, 64, 65, 255, 1024, 4095, 4096, 8192, 16385, 65536, 131073, LARGEST};
    start(&argc, &argv);
    char *buffer = malloc(LARGEST + 1);
    char *attached = malloc(2 * LARGEST);
    CALL(MPI_Buffer_attach(attached, 2 * LARGEST));
    for (int mode = 0; mode < 4; mode++)
        for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            int tag = mode * 100 + (int)i;
            if (check_rank == 0) {
                pattern_fill(buffer, (size_t)sizes[i], (unsigned)tag);
                send_in_mode(mode, buffer, sizes[i], tag);
            } else if (check_rank == 1)
                receive(mode, buffer, sizes[i], tag);
        }
    void *detached;
    int size;
    CALL(MPI_Buffer_detach(&detached, &size));
    CHECK(detached == attached && size == 2 * LARGEST, "detached %p of %d bytes", detached, size);
    free(attached);
    free(buffer);
    return finish();
}
