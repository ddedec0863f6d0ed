/* Buffers of one communicator and the automatic buffer of MPI 4.1. MPI 5.0, 3.6 */
#include "pattern.h"

enum { BYTES = 30000 };

static void exchange(MPI_Comm comm, int messages)
{
    char *data = malloc(BYTES);
    int peer = check_size - 1 - check_rank;
    for (int i = 0; i < messages; i++) {
        pattern_fill(data, BYTES, (unsigned)(check_rank * 50 + i));
        CALL(MPI_Bsend(data, BYTES, MPI_BYTE, peer, i, comm));
        memset(data, 0, BYTES);
    }
    for (int i = messages - 1; i >= 0; i--) {
        CALL(MPI_Recv(data, BYTES, MPI_BYTE, peer, i, comm, MPI_STATUS_IGNORE));
        CHECK_PATTERN(data, BYTES, (unsigned)(peer * 50 + i));
    }
    MPI_Barrier(comm);
    free(data);
}

static void own_buffer(MPI_Comm comm)
{
    int space = 4 * (BYTES + MPI_BSEND_OVERHEAD), size = -1;
    char *buffer = malloc((size_t)space);
    void *back = NULL;
    CALL(MPI_Comm_attach_buffer(comm, buffer, space));
    exchange(comm, 4);
    CALL(MPI_Comm_flush_buffer(comm));
    exchange(comm, 4);
    MPI_Request request;
    CALL(MPI_Comm_iflush_buffer(comm, &request));
    CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CALL(MPI_Comm_detach_buffer(comm, &back, &size));
    CHECK(back == buffer && size == space, "detached %p of %d, expected %p of %d", back, size, (void *)buffer, space);
    free(buffer);
}

/* The communicator's buffer goes before the process's one: sends on the communicator do not use the latter. */
static void precedence(MPI_Comm comm)
{
    static char tiny[MPI_BSEND_OVERHEAD + 8];
    int space = BYTES + MPI_BSEND_OVERHEAD, size;
    char *buffer = malloc((size_t)space), *data = calloc(1, BYTES);
    void *back;
    CALL(MPI_Buffer_attach(tiny, sizeof tiny));
    CALL(MPI_Comm_attach_buffer(comm, buffer, space));
    CALL(MPI_Bsend(data, BYTES, MPI_BYTE, check_rank, 1, comm));
    CALL(MPI_Recv(data, BYTES, MPI_BYTE, check_rank, 1, comm, MPI_STATUS_IGNORE));
    CALL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    FAILS(MPI_Bsend(data, BYTES, MPI_BYTE, check_rank, 1, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    CALL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    CALL(MPI_Comm_detach_buffer(comm, &back, &size));
    CALL(MPI_Buffer_detach(&back, &size));
    CHECK(back == tiny && size == (int)sizeof tiny, "the process's buffer came back as %p of %d", back, size);
    free(buffer);
    free(data);
}

static void automatic(MPI_Comm comm)
{
    void *back = NULL;
    int size = -1;
    CALL(MPI_Comm_attach_buffer(comm, MPI_BUFFER_AUTOMATIC, 0));
    exchange(comm, 20);
    CALL(MPI_Comm_detach_buffer(comm, &back, &size));
    CHECK(back == MPI_BUFFER_AUTOMATIC, "the automatic buffer came back as %p", back);
    CALL(MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0));
    exchange(MPI_COMM_WORLD, 20);
    CALL(MPI_Buffer_flush());
    CALL(MPI_Buffer_detach(&back, &size));
    CHECK(back == MPI_BUFFER_AUTOMATIC, "the automatic buffer came back as %p", back);
}

/* A nonblocking flush returns while a message still waits for its receiver, which waits for word from here. */
static void flush_returns(MPI_Comm comm)
{
    enum { LONG = 4000000 };
    int space = LONG + MPI_BSEND_OVERHEAD, size, word = 1, peer = check_size - 1 - check_rank;
    char *buffer = malloc((size_t)space), *data = malloc(LONG);
    void *back;
    MPI_Request request;
    pattern_fill(data, LONG, (unsigned)check_rank);
    CALL(MPI_Comm_attach_buffer(comm, buffer, space));
    CALL(MPI_Bsend(data, LONG, MPI_BYTE, peer, 4, comm));
    CALL(MPI_Comm_iflush_buffer(comm, &request));
    CALL(MPI_Sendrecv_replace(&word, 1, MPI_INT, peer, 5, peer, 5, comm, MPI_STATUS_IGNORE));
    CALL(MPI_Recv(data, LONG, MPI_BYTE, peer, 4, comm, MPI_STATUS_IGNORE));
    CHECK_PATTERN(data, LONG, (unsigned)peer);
    CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CALL(MPI_Comm_detach_buffer(comm, &back, &size));
    CHECK(back == buffer && size == space, "detached %p of %d", back, size);
    free(buffer);
    free(data);
}

/* A buffered message that is under way when its communicator is freed arrives as it was sent (7.4.3). */
static void freed_under_way(void)
{
    enum { LONG = 300000 };
    static char buffer[LONG + MPI_BSEND_OVERHEAD];
    char *data = malloc(LONG), *in = malloc(LONG), *others[64];
    MPI_Comm comm;
    MPI_Request request;
    CALL(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    CALL(MPI_Comm_attach_buffer(comm, buffer, sizeof buffer));
    CALL(MPI_Irecv(in, LONG, MPI_BYTE, 0, 7, comm, &request));
    pattern_fill(data, LONG, 9);
    CALL(MPI_Bsend(data, LONG, MPI_BYTE, 0, 7, comm));
    CALL(MPI_Comm_free(&comm));
    /* Memory that was freed too early is in other hands by now. */
    for (int i = 0; i < 64; i++)
        others[i] = memset(malloc(LONG), 0xee, LONG);
    CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_PATTERN(in, LONG, 9);
    for (int i = 0; i < 64; i++)
        free(others[i]);
    free(data);
    free(in);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Comm comm;
    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    own_buffer(comm);
    precedence(comm);
    automatic(comm);
    flush_returns(comm);
    freed_under_way();
    CALL(MPI_Comm_free(&comm));
    return finish();
}
