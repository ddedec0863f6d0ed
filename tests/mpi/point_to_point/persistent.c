/* Persistent requests of all modes: start, complete, start again; inactive ones are empty; freed when active they still end. MPI 5.0, 3.9 */
#include "pattern.h"

enum { BYTES = 20000, ROUNDS = 20, KINDS = 4 };

static void make(int peer, char *out, char *in, MPI_Request *sends, MPI_Request *receives)
{
    for (int i = 0; i < KINDS; i++)
        CALL(MPI_Recv_init(in + i * BYTES, BYTES, MPI_BYTE, peer, i, MPI_COMM_WORLD, &receives[i]));
    CALL(MPI_Send_init(out, BYTES, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &sends[0]));
    CALL(MPI_Ssend_init(out + BYTES, 16, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &sends[1]));
    CALL(MPI_Bsend_init(out + 2 * BYTES, BYTES, MPI_BYTE, peer, 2, MPI_COMM_WORLD, &sends[2]));
    CALL(MPI_Rsend_init(out + 3 * BYTES, 8, MPI_BYTE, peer, 3, MPI_COMM_WORLD, &sends[3]));
}

static void inactive(MPI_Request *request)
{
    MPI_Status status;
    int flag = 0, index = 9;
    memset(&status, 0x44, sizeof status);
    MPI_Request before = *request;
    CALL(MPI_Wait(request, &status));
    CHECK(*request == before, "MPI_Wait changed an inactive persistent request");
    CHECK(status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG, "not the empty status: %d %d", status.MPI_SOURCE, status.MPI_TAG);
    CALL(MPI_Test(request, &flag, MPI_STATUS_IGNORE));
    CHECK(flag, "MPI_Test of an inactive request");
    CALL(MPI_Waitany(1, request, &index, MPI_STATUS_IGNORE));
    CHECK(index == MPI_UNDEFINED, "MPI_Waitany of an inactive request: %d", index);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int peer = check_rank ^ 1;
    if (peer >= check_size)
        peer = MPI_PROC_NULL;
    char *out = malloc(KINDS * BYTES), *in = malloc(KINDS * BYTES);
    void *attached = malloc(4 * BYTES);
    CALL(MPI_Buffer_attach(attached, 4 * BYTES));
    MPI_Request sends[KINDS], receives[KINDS];
    make(peer, out, in, sends, receives);
    inactive(&receives[0]);
    inactive(&sends[2]);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Status statuses[KINDS];
        CALL(MPI_Startall(KINDS, receives));
        MPI_Barrier(MPI_COMM_WORLD);
        pattern_fill(out, KINDS * BYTES, (unsigned)(check_rank * 1000 + round));
        for (int i = KINDS - 1; i >= 0; i--)
            CALL(MPI_Start(&sends[i]));
        CALL(MPI_Waitall(KINDS, receives, statuses));
        CALL(MPI_Waitall(KINDS, sends, MPI_STATUSES_IGNORE));
        for (int i = 0; i < KINDS; i++) {
            int count, expected = peer == MPI_PROC_NULL ? 0 : i == 1 ? 16 : i == 3 ? 8 : BYTES;
            CALL(MPI_Get_count(&statuses[i], MPI_BYTE, &count));
            CHECK(count == expected && statuses[i].MPI_SOURCE == peer, "round %d kind %d: count %d source %d", round, i, count, statuses[i].MPI_SOURCE);
            CHECK(receives[i] != MPI_REQUEST_NULL && sends[i] != MPI_REQUEST_NULL, "a persistent request became null");
            for (int j = 0; j < count; j++)
                if (!CHECK((unsigned char)in[i * BYTES + j] == pattern_byte((size_t)(i * BYTES + j), (unsigned)(peer * 1000 + round)),
                           "round %d kind %d: byte %d", round, i, j))
                    break;
        }
    }
    inactive(&receives[3]);
    /* Freed while active: the messages still arrive. */
    MPI_Barrier(MPI_COMM_WORLD);
    CALL(MPI_Start(&receives[0]));
    CALL(MPI_Start(&sends[0]));
    CALL(MPI_Request_free(&sends[0]));
    CHECK(sends[0] == MPI_REQUEST_NULL, "not null after MPI_Request_free");
    CALL(MPI_Wait(&receives[0], MPI_STATUS_IGNORE));
    for (int i = 0; i < KINDS; i++) {
        if (i > 0)
            CALL(MPI_Request_free(&sends[i]));
        CALL(MPI_Request_free(&receives[i]));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    int size;
    CALL(MPI_Buffer_detach(&attached, &size));
    free(attached);
    int finished = finish();
    free(out);
    free(in);
    return finished;
}
