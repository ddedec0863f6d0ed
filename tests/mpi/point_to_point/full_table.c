/* When no further request can be made, a call fails before it starts anything: no buffer is kept, no message sent, no message or turn in
   the order of collective calls lost. */
#include "check.h"

enum { MOST = 1 << 21, DATA = 77 };

static MPI_Request *held;
static int count;

static int query(void *state, MPI_Status *status)
{
    (void)state;
    MPI_Status_set_elements(status, MPI_BYTE, 0);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}

static int nothing(void *state)
{
    (void)state;
    return MPI_SUCCESS;
}

static int cancel(void *state, int complete)
{
    (void)state;
    (void)complete;
    return MPI_SUCCESS;
}

/* Makes requests until there is no room for another one. */
static void fill(void)
{
    while (count < MOST && MPI_Grequest_start(query, nothing, cancel, NULL, &held[count]) == MPI_SUCCESS)
        count++;
    REQUIRE(count < MOST, "the library makes %d requests", count);
}

static void drop(int many)
{
    for (int i = 0; i < many; i++) {
        count--;
        CALL(MPI_Grequest_complete(held[count]));
        CALL(MPI_Wait(&held[count], MPI_STATUS_IGNORE));
    }
}

static int waiting(int source, int tag)
{
    int flag = -1;
    CALL(MPI_Iprobe(source, tag, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    return flag;
}

static void sends(void)
{
    MPI_Request request;
    int data = DATA;
    FAILS(MPI_Isend(&data, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &request), MPI_ERR_NO_MEM);
    CHECK(request == MPI_REQUEST_NULL, "the request is not null");
    FAILS(MPI_Issend(&data, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &request), MPI_ERR_NO_MEM);
    FAILS(MPI_Isendrecv(&data, 1, MPI_INT, 0, 1, &data, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request), MPI_ERR_NO_MEM);
    FAILS(MPI_Isendrecv_replace(&data, 1, MPI_INT, 0, 1, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request), MPI_ERR_NO_MEM);
    CHECK(!waiting(0, 1), "a send that failed has sent a message");
}

static void receives(void)
{
    MPI_Request request;
    MPI_Message message;
    int data = DATA, into = 0, flag = -1;
    FAILS(MPI_Irecv(&into, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, &request), MPI_ERR_NO_MEM);
    FAILS(MPI_Isendrecv(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, &into, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, &request), MPI_ERR_NO_MEM);
    CALL(MPI_Send(&data, 1, MPI_INT, 0, 2, MPI_COMM_WORLD));
    REQUIRE(waiting(0, 2), "a receive that failed has taken the message");
    CALL(MPI_Improbe(0, 2, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE));
    REQUIRE(flag == 1, "flag %d", flag);
    FAILS(MPI_Imrecv(&into, 1, MPI_INT, &message, &request), MPI_ERR_NO_MEM);
    REQUIRE(message != MPI_MESSAGE_NULL, "the message is lost");
    CALL(MPI_Mrecv(&into, 1, MPI_INT, &message, MPI_STATUS_IGNORE));
    CHECK(into == DATA, "received %d", into);
}

static void collectives(MPI_Comm ring)
{
    MPI_Request request;
    MPI_Comm copy;
    int mine = check_rank, sum = -1, beside[2] = {-1, -1};
    if (check_rank == 0) {
        FAILS(MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request), MPI_ERR_NO_MEM);
        FAILS(MPI_Ineighbor_allgather(&mine, 1, MPI_INT, beside, 1, MPI_INT, ring, &request), MPI_ERR_NO_MEM);
        FAILS(MPI_Comm_idup(MPI_COMM_WORLD, &copy, &request), MPI_ERR_NO_MEM);
        CHECK(copy == MPI_COMM_NULL, "the communicator is not null");
        drop(3);
    }
    CALL(MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
    CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(sum == check_size * (check_size - 1) / 2, "sum %d", sum);
    CALL(MPI_Ineighbor_allgather(&mine, 1, MPI_INT, beside, 1, MPI_INT, ring, &request));
    CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(beside[0] == (check_rank + check_size - 1) % check_size, "left neighbour %d", beside[0]);
    CALL(MPI_Comm_idup(MPI_COMM_WORLD, &copy, &request));
    CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CALL(MPI_Barrier(copy));
    CALL(MPI_Comm_free(&copy));
}

int main(int argc, char **argv)
{
    MPI_Comm ring;
    int dims[1], periods[1] = {1};
    start(&argc, &argv);
    CALL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    CALL(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    dims[0] = check_size;
    CALL(MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &ring));
    CALL(MPI_Comm_set_errhandler(ring, MPI_ERRORS_RETURN));
    if (check_rank == 0) {
        held = malloc(MOST * sizeof *held);
        fill();
        sends();
        receives();
    }
    collectives(ring);
    drop(count);
    free(held);
    CALL(MPI_Comm_free(&ring));
    return finish();
}
