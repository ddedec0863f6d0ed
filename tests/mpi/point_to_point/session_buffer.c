/* Buffers of one session, used by the communicators made from it. MPI 5.0, 3.6 and 11.3 */
#include "check.h"

int main(int argc, char **argv)
{
    (void)argc, (void)argv;
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    CALL(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session));
    CALL(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    CALL(MPI_Comm_create_from_group(group, "towpath-test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm));
    CALL(MPI_Comm_rank(comm, &check_rank));
    CALL(MPI_Comm_size(comm, &check_size));
    static char buffer[10000 + MPI_BSEND_OVERHEAD];
    char data[10000];
    void *back = NULL;
    int size = -1, peer = check_size - 1 - check_rank;
    CALL(MPI_Session_attach_buffer(session, buffer, sizeof buffer));
    memset(data, check_rank, sizeof data);
    CALL(MPI_Bsend(data, sizeof data, MPI_BYTE, peer, 1, comm));
    CALL(MPI_Recv(data, sizeof data, MPI_BYTE, peer, 1, comm, MPI_STATUS_IGNORE));
    CHECK(data[0] == peer && data[9999] == peer, "data %d of %d", data[0], peer);
    CALL(MPI_Session_flush_buffer(session));
    CALL(MPI_Session_detach_buffer(session, &back, &size));
    CHECK(back == buffer && size == (int)sizeof buffer, "detached %p of %d", back, size);
    CALL(MPI_Group_free(&group));
    CALL(MPI_Comm_free(&comm));
    CALL(MPI_Session_finalize(&session));
    return verdict();
}
