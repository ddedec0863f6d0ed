/* MPI_Comm_dup, dup_with_info, idup and idup_with_info: same group, another context; compare; names; freeing with messages under way. MPI 5.0, 7.4 */
#include "check.h"

static void separate(MPI_Comm first, MPI_Comm second)
{
    int peer = check_size - 1 - check_rank, value = 1, result;
    MPI_Request requests[4];
    int in[2] = {0, 0}, out[2] = {11, 22};
    CALL(MPI_Comm_compare(first, second, &result));
    CHECK(result == MPI_CONGRUENT, "a duplicate compares as %d", result);
    CALL(MPI_Irecv(&in[0], 1, MPI_INT, peer, value, first, &requests[0]));
    CALL(MPI_Irecv(&in[1], 1, MPI_INT, peer, value, second, &requests[1]));
    CALL(MPI_Isend(&out[1], 1, MPI_INT, peer, value, second, &requests[2]));
    CALL(MPI_Isend(&out[0], 1, MPI_INT, peer, value, first, &requests[3]));
    CALL(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
    CHECK(in[0] == 11 && in[1] == 22, "messages of two communicators were mixed: %d %d", in[0], in[1]);
}

static void many(void)
{
    enum { N = 300 };
    static MPI_Comm comms[N];
    for (int i = 0; i < N; i++)
        CALL(MPI_Comm_dup(i ? comms[i - 1] : MPI_COMM_WORLD, &comms[i]));
    separate(comms[0], comms[N - 1]);
    for (int i = 0; i < N; i += 2)
        CALL(MPI_Comm_free(&comms[i]));
    separate(comms[1], comms[N - 1]);
    for (int i = 1; i < N; i += 2)
        CALL(MPI_Comm_free(&comms[i]));
    for (int i = 0; i < 1000; i++) {
        MPI_Comm comm;
        CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        CALL(MPI_Comm_free(&comm));
        CHECK(comm == MPI_COMM_NULL, "not null after MPI_Comm_free");
    }
}

static void nonblocking(void)
{
    MPI_Comm comms[4];
    MPI_Request requests[4];
    MPI_Info info;
    CALL(MPI_Info_create(&info));
    CALL(MPI_Info_set(info, "mpi_assert_no_any_tag", "true"));
    for (int i = 0; i < 3; i++)
        CALL(MPI_Comm_idup(MPI_COMM_WORLD, &comms[i], &requests[i]));
    CALL(MPI_Comm_idup_with_info(MPI_COMM_WORLD, info, &comms[3], &requests[3]));
    int order[4] = {2, 0, 3, 1};
    for (int i = 0; i < 4; i++)
        CALL(MPI_Wait(&requests[order[i]], MPI_STATUS_IGNORE));
    separate(comms[0], comms[1]);
    separate(comms[2], comms[3]);
    for (int i = 0; i < 4; i++)
        CALL(MPI_Comm_free(&comms[i]));
    CALL(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comms[0]));
    separate(MPI_COMM_WORLD, comms[0]);
    CALL(MPI_Comm_free(&comms[0]));
    CALL(MPI_Info_free(&info));
}

/* A communicator may be freed while its messages are under way: they still arrive. */
static void freed_early(void)
{
    enum { BYTES = 200000 };
    static char out[BYTES], in[BYTES];
    MPI_Comm comm;
    MPI_Request requests[2];
    int peer = check_size - 1 - check_rank;
    memset(out, check_rank + 1, BYTES);
    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CALL(MPI_Irecv(in, BYTES, MPI_BYTE, peer, 1, comm, &requests[0]));
    CALL(MPI_Isend(out, BYTES, MPI_BYTE, peer, 1, comm, &requests[1]));
    CALL(MPI_Comm_free(&comm));
    CALL(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK(in[0] == peer + 1 && in[BYTES - 1] == peer + 1, "data %d", in[0]);
}

static void names(void)
{
    char name[MPI_MAX_OBJECT_NAME] = "", longest[MPI_MAX_OBJECT_NAME];
    int length = -1;
    MPI_Comm comm;
    CALL(MPI_Comm_get_name(MPI_COMM_WORLD, name, &length));
    CHECK(strcmp(name, "MPI_COMM_WORLD") == 0 && length == 14, "'%s'", name);
    CALL(MPI_Comm_get_name(MPI_COMM_SELF, name, &length));
    CHECK(strcmp(name, "MPI_COMM_SELF") == 0, "'%s'", name);
    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CALL(MPI_Comm_get_name(comm, name, &length));
    CHECK(length == 0 && name[0] == 0, "a new communicator is called '%s'", name);
    memset(longest, 'n', sizeof longest);
    longest[MPI_MAX_OBJECT_NAME - 1] = 0;
    CALL(MPI_Comm_set_name(comm, longest));
    CALL(MPI_Comm_get_name(comm, name, &length));
    CHECK(strcmp(name, longest) == 0 && length == MPI_MAX_OBJECT_NAME - 1, "the longest name came back with %d", length);
    CALL(MPI_Comm_free(&comm));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int result;
    CALL(MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_WORLD, &result));
    CHECK(result == MPI_IDENT, "MPI_COMM_WORLD compares with itself as %d", result);
    many();
    nonblocking();
    freed_early();
    names();
    return finish();
}
