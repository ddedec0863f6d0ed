/* Buffered sends end without their receive, respect the size of the buffer, and detaching waits for the messages. MPI 5.0, 3.6 */
#include "pattern.h"

enum { BYTES = 50000, MESSAGES = 10 };

static void enough_space(void)
{
    int each;
    CALL(MPI_Pack_size(BYTES, MPI_BYTE, MPI_COMM_WORLD, &each));
    int space = MESSAGES * (each + MPI_BSEND_OVERHEAD), size = -1;
    char *buffer = malloc((size_t)space), *data = malloc(BYTES);
    void *back = NULL;
    CALL(MPI_Buffer_attach(buffer, space));
    int peer = check_size - 1 - check_rank;
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < MESSAGES; i++) {
            /* All ranks send first: without buffering this is a deadlock. */
            pattern_fill(data, BYTES, (unsigned)(check_rank * 100 + i));
            CALL(MPI_Bsend(data, BYTES, MPI_BYTE, peer, i, MPI_COMM_WORLD));
            memset(data, 0, BYTES);
        }
        for (int i = MESSAGES - 1; i >= 0; i--) {
            CALL(MPI_Recv(data, BYTES, MPI_BYTE, peer, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK_PATTERN(data, BYTES, (unsigned)(peer * 100 + i));
        }
        MPI_Barrier(MPI_COMM_WORLD);
        /* Detach and attach again: the space is whole again. */
        CALL(MPI_Buffer_detach(&back, &size));
        CHECK(back == buffer && size == space, "detached %p of %d, expected %p of %d", back, size, (void *)buffer, space);
        CALL(MPI_Buffer_attach(buffer, space));
    }
    CALL(MPI_Buffer_detach(&back, &size));
    free(buffer);
    free(data);
}

static void detach_waits(void)
{
    int space = BYTES + MPI_BSEND_OVERHEAD, size;
    char *buffer = malloc((size_t)space), *data = malloc(BYTES);
    void *back;
    if (check_rank == 0) {
        pattern_fill(data, BYTES, 5);
        CALL(MPI_Buffer_attach(buffer, space));
        CALL(MPI_Bsend(data, BYTES, MPI_BYTE, 1, 3, MPI_COMM_WORLD));
        CALL(MPI_Buffer_detach(&back, &size));
        memset(buffer, 0xff, (size_t)space); /* the message must have left */
    } else if (check_rank == 1) {
        CALL(MPI_Recv(data, BYTES, MPI_BYTE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK_PATTERN(data, BYTES, 5);
    }
    free(buffer);
    free(data);
}

/* A nonblocking flush returns while a message still waits for its receiver, which waits for word from here. */
static void flush_returns(void)
{
    enum { LONG = 4000000 };
    int space = LONG + MPI_BSEND_OVERHEAD, size, word = 1, peer = check_size - 1 - check_rank;
    char *buffer = malloc((size_t)space), *data = malloc(LONG);
    void *back;
    MPI_Request request;
    pattern_fill(data, LONG, (unsigned)check_rank);
    CALL(MPI_Buffer_attach(buffer, space));
    CALL(MPI_Bsend(data, LONG, MPI_BYTE, peer, 4, MPI_COMM_WORLD));
    CALL(MPI_Buffer_iflush(&request));
    CALL(MPI_Sendrecv_replace(&word, 1, MPI_INT, peer, 5, peer, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CALL(MPI_Recv(data, LONG, MPI_BYTE, peer, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_PATTERN(data, LONG, (unsigned)peer);
    CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(request == MPI_REQUEST_NULL, "the request of a flush is not freed");
    /* The whole buffer is free again after the flush. */
    CALL(MPI_Bsend(data, LONG, MPI_BYTE, peer, 6, MPI_COMM_WORLD));
    CALL(MPI_Recv(data, LONG, MPI_BYTE, peer, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CALL(MPI_Buffer_detach(&back, &size));
    CHECK(back == buffer && size == space, "detached %p of %d", back, size);
    CALL(MPI_Buffer_iflush(&request));
    CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    free(buffer);
    free(data);
}

static void too_little_space(void)
{
    static char small[MPI_BSEND_OVERHEAD + 100];
    char data[1000] = {0};
    void *back;
    int size;
    /* Errors of calls without a communicator go to MPI_COMM_SELF. */
    CALL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    CALL(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    FAILS(MPI_Bsend(data, 10, MPI_BYTE, check_rank, 1, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    CALL(MPI_Buffer_attach(small, sizeof small));
    FAILS(MPI_Bsend(data, sizeof data, MPI_BYTE, check_rank, 1, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    CHECK(MPI_Buffer_attach(small, sizeof small) != MPI_SUCCESS, "a second buffer was attached");
    /* The failed send left nothing: a fitting one goes through. */
    CALL(MPI_Bsend(data, 50, MPI_BYTE, check_rank, 1, MPI_COMM_WORLD));
    MPI_Status status;
    int count;
    CALL(MPI_Recv(data, sizeof data, MPI_BYTE, check_rank, 1, MPI_COMM_WORLD, &status));
    CALL(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK(count == 50, "count %d", count);
    CALL(MPI_Buffer_detach(&back, &size));
    CALL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    CALL(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    enough_space();
    detach_waits();
    flush_returns();
    too_little_space();
    return finish();
}
