/*
 * A thread sleeps in a synchronous send to its own process; the other one receives, by every way to receive, and calls nothing more: the
 * send must end all the same. MPI 5.0, 3.5 and 11.6
 */
#include "check.h"
#include <pthread.h>
#include <unistd.h>

enum { WAYS = 8, LENGTH = 3 };

static int way;

static void *send(void *unused)
{
    (void)unused;
    int data[2 * LENGTH] = {way, 1, 2, 3, 4, 5};
    CALL(MPI_Ssend(data, LENGTH, MPI_INT, check_rank, way, MPI_COMM_WORLD));
    return NULL;
}

/* Receives into `data` in the current way. The request is what remains to be completed. */
static MPI_Request receive(int *data, MPI_Datatype every_second)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Message message;
    int flag = 0, other = -1;
    switch (way) {
    case 0:
        CALL(MPI_Recv(data, LENGTH, MPI_INT, check_rank, way, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        break;
    case 1:
        CALL(MPI_Recv(data, 1, every_second, check_rank, way, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        break;
    case 2:
        CALL(MPI_Irecv(data, LENGTH, MPI_INT, check_rank, way, MPI_COMM_WORLD, &request));
        break;
    case 3:
        CALL(MPI_Mprobe(check_rank, way, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
        CALL(MPI_Mrecv(data, LENGTH, MPI_INT, &message, MPI_STATUS_IGNORE));
        break;
    case 4:
        while (!flag)
            CALL(MPI_Improbe(check_rank, way, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE));
        CALL(MPI_Imrecv(data, LENGTH, MPI_INT, &message, &request));
        break;
    case 5:
        CALL(MPI_Recv_init(data, LENGTH, MPI_INT, check_rank, way, MPI_COMM_WORLD, &request));
        CALL(MPI_Start(&request));
        break;
    case 6:
        CALL(MPI_Sendrecv(&other, 1, MPI_INT, MPI_PROC_NULL, 0, data, LENGTH, MPI_INT, check_rank, way, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        break;
    default:
        CALL(MPI_Isendrecv(&other, 1, MPI_INT, MPI_PROC_NULL, 0, data, LENGTH, MPI_INT, check_rank, way, MPI_COMM_WORLD, &request));
    }
    return request;
}

int main(int argc, char **argv)
{
    start_threads(&argc, &argv);
    MPI_Datatype every_second;
    CALL(MPI_Type_vector(LENGTH, 1, 2, MPI_INT, &every_second));
    CALL(MPI_Type_commit(&every_second));
    for (way = 0; way < WAYS; way++) {
        int data[2 * LENGTH] = {-1, -1, -1, -1, -1, -1}, stride = way == 1 ? 2 : 1;
        pthread_t sender;
        pthread_create(&sender, NULL, send, NULL);
        usleep(30000); /* long enough to fall asleep; nothing is wrong if it has not */
        MPI_Request request = receive(data, every_second);
        pthread_join(sender, NULL);
        CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
        if (request != MPI_REQUEST_NULL)
            CALL(MPI_Request_free(&request));
        for (int i = 0; i < LENGTH; i++)
            CHECK(data[i * stride] == (i ? i : way), "way %d: element %d is %d", way, i, data[i * stride]);
    }
    CALL(MPI_Type_free(&every_second));
    return finish();
}
