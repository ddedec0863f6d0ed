/* Messages of one pair on one communicator arrive in order, whatever their sizes and modes; receives in the order posted. MPI 5.0, 3.5 */
#include "pattern.h"

enum { MESSAGES = 3000, LARGEST = 40000, WINDOW = 50 };

static size_t size_of(int i)
{
    unsigned state = (unsigned)i * 2246822519u + 7;
    unsigned kind = next_random(&state) % 10, size = next_random(&state);
    return kind < 6 ? size % 64 : kind < 9 ? size % 4000 : size % LARGEST;
}

static void send_all(char *buffers)
{
    for (int first = 0; first < MESSAGES; first += WINDOW) {
        MPI_Request requests[WINDOW];
        for (int i = 0; i < WINDOW; i++) {
            int number = first + i;
            size_t bytes = sizeof number + size_of(number);
            char *buffer = buffers + (size_t)i * (LARGEST + 8);
            memcpy(buffer, &number, sizeof number);
            pattern_fill(buffer + sizeof number, bytes - sizeof number, (unsigned)number);
            if (number % 3 == 0)
                CALL(MPI_Issend(buffer, (int)bytes, MPI_BYTE, 1, number % 2, MPI_COMM_WORLD, &requests[i]));
            else
                CALL(MPI_Isend(buffer, (int)bytes, MPI_BYTE, 1, number % 2, MPI_COMM_WORLD, &requests[i]));
        }
        CALL(MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE));
    }
}

static void check_message(const char *buffer, int expected, const MPI_Status *status)
{
    int number, count;
    memcpy(&number, buffer, sizeof number);
    CALL(MPI_Get_count(status, MPI_BYTE, &count));
    REQUIRE(number == expected, "message %d arrived where %d was expected", number, expected);
    CHECK((size_t)count == sizeof number + size_of(number), "count %d of message %d", count, number);
    CHECK_PATTERN(buffer + sizeof number, (size_t)count - sizeof number, (unsigned)number);
}

/* Sixths of the sequence by blocking receives with a tag or without, by posted receives, and by probes. */
static void receive_all(char *buffers)
{
    for (int first = 0; first < MESSAGES; first += WINDOW) {
        int way = first / WINDOW % 3;
        MPI_Request requests[WINDOW];
        MPI_Status status;
        for (int i = 0; i < WINDOW && way == 0; i++)
            CALL(MPI_Irecv(buffers + (size_t)i * (LARGEST + 8), LARGEST + 8, MPI_BYTE, i % 5 ? 0 : MPI_ANY_SOURCE,
                           i % 4 ? (first + i) % 2 : MPI_ANY_TAG, MPI_COMM_WORLD, &requests[i]));
        for (int i = 0; i < WINDOW; i++) {
            char *buffer = buffers + (way == 0 ? (size_t)i * (LARGEST + 8) : 0);
            if (way == 0)
                CALL(MPI_Wait(&requests[i], &status));
            else if (way == 1)
                CALL(MPI_Recv(buffer, LARGEST + 8, MPI_BYTE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
            else {
                CALL(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
                CALL(MPI_Recv(buffer, LARGEST + 8, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, &status));
            }
            check_message(buffer, first + i, &status);
        }
    }
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    char *buffers = malloc((size_t)WINDOW * (LARGEST + 8));
    if (check_rank == 0)
        send_all(buffers);
    else if (check_rank == 1)
        receive_all(buffers);
    free(buffers);
    return finish();
}
