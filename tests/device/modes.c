/*
 * The rarer calls that send and receive, with buffers in device memory: MPI_Sendrecv_replace and
 * its nonblocking form, ready and buffered sends, matched probes, persistent requests that are used
 * again, and sends and receives that are cancelled.
 */
#include "memory.h"

enum { LARGEST = 3 << 20 };

static int next, last;
static MPI_Datatype gaps;

/* Checks bytes of `length`: pattern `seed` in blocks of 8 every 24 bytes, otherwise `other`. */
static void check_gaps(Memory memory, unsigned seed, unsigned other)
{
    unsigned char *bytes = malloc(memory.size);
    long wrong = 0;
    read_memory(memory, bytes);
    for (size_t i = 0; i < memory.size; i++)
        wrong += bytes[i] != pattern_byte(i, i % 24 < 8 ? seed : other);
    CHECK(wrong == 0, "%ld bytes are wrong", wrong);
    free(bytes);
}

static void replaced(int count)
{
    size_t size = (size_t)count * 24;
    Memory memory = pattern_in(true, size, check_rank);
    MPI_Request request;
    CALL(MPI_Sendrecv_replace(memory.bytes, count, gaps, next, 0, last, 0, MPI_COMM_WORLD,
                              MPI_STATUS_IGNORE));
    check_gaps(memory, last, check_rank);
    set_pattern(memory, check_rank);
    CALL(MPI_Isendrecv_replace(memory.bytes, (int)size, MPI_BYTE, next, 0, last, 0, MPI_COMM_WORLD,
                               &request));
    CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_MEMORY(memory, size, last);
    free_memory(memory);
}

static void buffered_and_ready(int count)
{
    size_t size = (size_t)count * 24;
    Memory from = pattern_in(true, size, check_rank), to = pattern_in(true, size, 99);
    int bytes = count * 8 + MPI_BSEND_OVERHEAD;
    void *buffer = malloc(bytes);
    MPI_Request requests[2];
    MPI_Buffer_attach(buffer, bytes);
    CALL(MPI_Ibsend(from.bytes, count, gaps, next, 0, MPI_COMM_WORLD, &requests[0]));
    CALL(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    /* The message is a copy. */
    set_pattern(from, 77);
    CALL(MPI_Recv(to.bytes, count, gaps, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    check_gaps(to, last, 99);
    MPI_Buffer_detach(&buffer, &bytes);
    free(buffer);
    set_pattern(from, check_rank);
    MPI_Irecv(to.bytes, (int)size, MPI_BYTE, last, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Barrier(MPI_COMM_WORLD);
    CALL(MPI_Irsend(from.bytes, (int)size, MPI_BYTE, next, 1, MPI_COMM_WORLD, &requests[1]));
    CALL(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK_MEMORY(to, size, last);
    free_memory(from);
    free_memory(to);
}

static void probed_and_persistent(int count)
{
    size_t size = (size_t)count * 24;
    Memory from = pattern_in(true, size, check_rank), to = pattern_in(true, size, 99);
    MPI_Request requests[2];
    MPI_Message message;
    MPI_Status status;
    MPI_Ssend_init(from.bytes, count, gaps, next, 2, MPI_COMM_WORLD, &requests[0]);
    for (int round = 0; round < 3; round++) {
        int found = 0, received;
        set_pattern(to, 99);
        CALL(MPI_Start(&requests[0]));
        while (!found)
            MPI_Improbe(last, 2, MPI_COMM_WORLD, &found, &message, &status);
        MPI_Get_count(&status, MPI_BYTE, &received);
        CHECK(received == count * 8, "the message has %d bytes", received);
        CALL(MPI_Imrecv(to.bytes, count, gaps, &message, &requests[1]));
        CALL(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        check_gaps(to, last, 99);
    }
    MPI_Request_free(&requests[0]);
    free_memory(from);
    free_memory(to);
}

/* Sends that nobody receives and receives that get nothing; their memory is freed afterwards. */
static void cancelled(int count)
{
    size_t size = (size_t)count * 24;
    Memory from = pattern_in(true, size, check_rank), to = pattern_in(true, size, 99);
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int send_ended, receive_ended;
    MPI_Irecv(to.bytes, count, gaps, last, 8, MPI_COMM_WORLD, &requests[0]);
    MPI_Issend(from.bytes, count, gaps, next, 9, MPI_COMM_WORLD, &requests[1]);
    CALL(MPI_Cancel(&requests[0]));
    CALL(MPI_Cancel(&requests[1]));
    CALL(MPI_Waitall(2, requests, statuses));
    MPI_Test_cancelled(&statuses[0], &receive_ended);
    MPI_Test_cancelled(&statuses[1], &send_ended);
    CHECK(receive_ended, "the receive was not cancelled");
    CHECK(send_ended, "the send was not cancelled");
    CHECK_MEMORY(to, size, 99);
    free_memory(from);
    MPI_Barrier(MPI_COMM_WORLD);
    int found = 1;
    MPI_Iprobe(last, 9, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    CHECK(!found, "a message that was cancelled can be received");
    free_memory(to);
}

int main(int count, char **words)
{
    start(&count, &words);
    next = (check_rank + 1) % check_size;
    last = (check_rank + check_size - 1) % check_size;
    start_device(check_rank);
    MPI_Datatype block;
    MPI_Type_contiguous(8, MPI_BYTE, &block);
    MPI_Type_create_resized(block, 0, 24, &gaps);
    MPI_Type_commit(&gaps);
    MPI_Type_free(&block);
    for (int elements = 1; elements * 24 < LARGEST; elements *= 17) {
        replaced(elements);
        buffered_and_ready(elements);
        probed_and_persistent(elements);
        cancelled(elements);
    }
    MPI_Type_free(&gaps);
    return finish();
}
