/* All ranks exchange random numbers of random messages with random tags, posted in a random order on both sides. */
#include "pattern.h"

enum { MESSAGES = 400, LARGEST = 30000, TAGS = 5 };

/* Message i from one rank to another: both sides compute the same. */
static int size_of(int from, int to, int i)
{
    unsigned state = (unsigned)(from * 7919 + to * 104729 + i * 31 + 12345);
    unsigned kind = next_random(&state) % 8;
    return (int)(next_random(&state) % (kind < 5 ? 200 : kind < 7 ? 5000 : LARGEST));
}

static int peer_of(int rank, int i) /* symmetric: both name each other in round i */
{
    return (i - rank % check_size + 2 * check_size) % check_size;
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    static char *out[MESSAGES], *in[MESSAGES];
    static MPI_Request requests[2 * MESSAGES];
    unsigned state = (unsigned)check_rank + 99;
    for (int i = 0; i < MESSAGES; i++) {
        int peer = peer_of(check_rank, i), bytes = size_of(check_rank, peer, i);
        out[i] = malloc((size_t)bytes + 1);
        in[i] = malloc(LARGEST);
        pattern_fill(out[i], (size_t)bytes, (unsigned)(check_rank * 1000 + i));
    }
    /* The order of sends and receives differs from rank to rank; within one peer and tag it is the same. */
    int sent = 0, received = 0;
    while (sent < MESSAGES || received < MESSAGES) {
        int send = sent < MESSAGES && (received >= MESSAGES || next_random(&state) % 2);
        int i = send ? sent++ : received++;
        int peer = peer_of(check_rank, i);
        if (send)
            CALL(MPI_Isend(out[i], size_of(check_rank, peer, i), MPI_BYTE, peer, i % TAGS, MPI_COMM_WORLD, &requests[i]));
        else
            CALL(MPI_Irecv(in[i], LARGEST, MPI_BYTE, peer, i % TAGS, MPI_COMM_WORLD, &requests[MESSAGES + i]));
    }
    static MPI_Status statuses[2 * MESSAGES];
    CALL(MPI_Waitall(2 * MESSAGES, requests, statuses));
    for (int i = 0; i < MESSAGES; i++) {
        int peer = peer_of(check_rank, i), bytes = size_of(peer, check_rank, i), count;
        CALL(MPI_Get_count(&statuses[MESSAGES + i], MPI_BYTE, &count));
        CHECK(count == bytes, "message %d from %d: %d bytes, expected %d", i, peer, count, bytes);
        CHECK_PATTERN(in[i], (size_t)bytes, (unsigned)(peer * 1000 + i));
        free(out[i]);
        free(in[i]);
    }
    return finish();
}
