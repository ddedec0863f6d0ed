/*
 * A long reduction that meets another collective: the error names what the program has called, also
 * where the ranks tell each other first where their vectors are.
 */
#include "memory.h"

enum { COUNT = 300001 };

int main(int count, char **words)
{
    start(&count, &words);
    start_device(check_rank);
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    Memory send = memory_of(true, COUNT * sizeof(float)), receive = memory_of(true, send.size);
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;
    /* Makes the board. */
    MPI_Barrier(comm);
    int code = check_rank ? MPI_Barrier(comm)
                          : MPI_Reduce(send.bytes, receive.bytes, COUNT, MPI_FLOAT, MPI_SUM, 0, comm);
    MPI_Error_string(code, text, &length);
    CHECK(strstr(text, "MPI_Reduce with root 0") && strstr(text, "MPI_Barrier"),
          "the error says \"%s\"", text);
    free_memory(send);
    free_memory(receive);
    /* The error names the function that the other rank has called last. */
    MPI_Barrier(MPI_COMM_WORLD);
    return finish();
}
