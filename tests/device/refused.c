/*
 * Device addresses where MPI wants host memory: an error with a sentence, and the job goes on.
 */
#include "memory.h"

/* A call that fails with the class and whose text names the memory. */
static void refused(int code, int class, const char *call)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(code, text, &length);
    CHECK(class_of(code) == class, "%s gives class %d: %s", call, class_of(code), text);
    CHECK(strstr(text, "device memory"), "%s says: %s", call, text);
}

int main(int count, char **words)
{
    start(&count, &words);
    start_device(check_rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    Memory memory = pattern_in(true, 100000, 1);
    int size;
    void *buffer;
    refused(MPI_Buffer_attach(memory.bytes, 100000), MPI_ERR_BUFFER, "MPI_Buffer_attach");
    refused(MPI_Comm_attach_buffer(MPI_COMM_WORLD, memory.bytes, 100000), MPI_ERR_BUFFER,
            "MPI_Comm_attach_buffer");
    FAILS(MPI_Buffer_detach(&buffer, &size), MPI_ERR_BUFFER);
    int *numbers = memory.bytes, host[1] = {0};
    refused(MPI_Alltoallv(memory.bytes, numbers, host, MPI_BYTE, memory.bytes, host, host, MPI_BYTE,
                          MPI_COMM_SELF),
            MPI_ERR_BUFFER, "MPI_Alltoallv");
    refused(MPI_Allgatherv(memory.bytes, 0, MPI_BYTE, memory.bytes, host, numbers, MPI_BYTE,
                           MPI_COMM_SELF),
            MPI_ERR_BUFFER, "MPI_Allgatherv");
    refused(MPI_Reduce_scatter(host, host, numbers, MPI_INT, MPI_SUM, MPI_COMM_SELF),
            MPI_ERR_BUFFER, "MPI_Reduce_scatter");
    MPI_Datatype *types = memory.bytes, in_host[1] = {MPI_BYTE};
    refused(MPI_Alltoallw(memory.bytes, host, host, types, memory.bytes, host, host, in_host,
                          MPI_COMM_SELF),
            MPI_ERR_BUFFER, "MPI_Alltoallw");
    /* Pinned memory is host memory. */
    void *pinned;
    CALLED(cuMemHostAlloc(&pinned, 100000, 0));
    CALL(MPI_Buffer_attach(pinned, 100000));
    CALL(MPI_Bsend(memory.bytes, 50000, MPI_BYTE, check_rank, 0, MPI_COMM_WORLD));
    Memory to = pattern_in(true, 50000, 2);
    CALL(MPI_Recv(to.bytes, 50000, MPI_BYTE, check_rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_MEMORY(to, 50000, 1);
    CALL(MPI_Buffer_detach(&buffer, &size));
    return finish();
}
