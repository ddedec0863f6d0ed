/*
 * The hint towpath_collective selects the algorithms of a communicator: seen by the ranks on which
 * a user's operation is called, and by the messages of a broadcast (argument "messages"; the
 * counters show them). What is wrong or late is ignored, and MPI_Comm_get_info shows what is in
 * effect. MPI 5.0, 7.4.2 and 7.4.4
 */
#include "check.h"

#define KEY "towpath_collective"
#define ORDERED "mpi_assert_strict_persistent_collective_ordering"

static int folds;

static void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    folds++;
    for (int i = 0; i < *count; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

static MPI_Info hint_of(const char *key, const char *value)
{
    MPI_Info info;
    CALL(MPI_Info_create(&info));
    CALL(MPI_Info_set(info, key, value));
    return info;
}

static MPI_Comm copy_with(const char *key, const char *value)
{
    MPI_Comm copy;
    MPI_Info info = hint_of(key, value);
    CALL(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &copy));
    CALL(MPI_Info_free(&info));
    return copy;
}

static void set(MPI_Comm comm, const char *key, const char *value)
{
    MPI_Info info = hint_of(key, value);
    CALL(MPI_Comm_set_info(comm, info));
    CALL(MPI_Info_free(&info));
}

/* Expects a value of a hint; NULL for none. */
static void shows(MPI_Comm comm, const char *key, const char *expected, const char *which)
{
    char value[MPI_MAX_INFO_VAL + 1] = "";
    int flag = -1, length = sizeof value;
    MPI_Info used;
    CALL(MPI_Comm_get_info(comm, &used));
    CALL(MPI_Info_get_string(used, key, &length, value, &flag));
    CALL(MPI_Info_free(&used));
    if (expected)
        CHECK(flag && strcmp(value, expected) == 0, "%s shows '%s' for %s", which,
              flag ? value : "nothing", key);
    else
        CHECK(!flag, "%s shows '%s' for %s", which, value, key);
}

/* Number of ranks on which an allreduce calls the operation. */
static int folding_ranks(MPI_Comm comm, MPI_Op op)
{
    int sum = -1, one = 1, own, all;
    folds = 0;
    CALL(MPI_Allreduce(&one, &sum, 1, MPI_INT, op, comm));
    CHECK(sum == check_size, "the sum is %d", sum);
    own = folds > 0;
    CALL(MPI_Allreduce(&own, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    return all;
}

static void selects(const char *algorithm, int ranks, MPI_Op op)
{
    MPI_Comm copy = copy_with(KEY, algorithm), late;
    shows(copy, KEY, algorithm, "a copy with the hint");
    int folding = folding_ranks(copy, op);
    CHECK(folding == ranks, "%d ranks fold by %s", folding, algorithm);

    set(copy, KEY, "allreduce:stripes");
    shows(copy, KEY, algorithm, "a communicator that has been used");
    CALL(MPI_Comm_dup(copy, &late));
    shows(late, KEY, NULL, "a copy of it");
    set(late, KEY, algorithm);
    shows(late, KEY, algorithm, "a new communicator");
    folding = folding_ranks(late, op);
    CHECK(folding == ranks, "%d ranks fold by %s, set later", folding, algorithm);
    CALL(MPI_Comm_free(&late));
    CALL(MPI_Comm_free(&copy));
}

static void ignores_what_is_wrong(MPI_Op op)
{
    MPI_Comm copy = copy_with(KEY, "allreduce:magic");
    shows(copy, KEY, NULL, "a copy with an unknown algorithm");
    set(copy, KEY, "nobody:chain");
    shows(copy, KEY, NULL, "a communicator with an unknown collective");
    set(copy, KEY, "allreduce:reduce_bcast");
    CHECK(folding_ranks(copy, op) == 1, "the first valid value does not count");
    set(copy, ORDERED, "perhaps");
    shows(copy, ORDERED, "false", "a communicator with a wrong assertion");
    set(copy, ORDERED, "true");
    shows(copy, ORDERED, "true", "a communicator with the assertion");
    CALL(MPI_Comm_free(&copy));
}

/* Rank 0 has sent all messages before rank 1 receives one. */
static void broadcasts_by_messages(void)
{
    enum { CALLS = 100 };
    MPI_Comm copy = copy_with(KEY, "bcast:binomial");
    MPI_Request requests[CALLS];
    int values[CALLS];
    if (check_rank == 1)
        CALL(MPI_Recv(NULL, 0, MPI_INT, 0, 0, copy, MPI_STATUS_IGNORE));
    for (int i = 0; i < CALLS; i++) {
        values[i] = check_rank == 0 ? i : -1;
        CALL(MPI_Ibcast(&values[i], 1, MPI_INT, 0, copy, &requests[i]));
    }
    if (check_rank == 0)
        CALL(MPI_Send(NULL, 0, MPI_INT, 1, 0, copy));
    CALL(MPI_Waitall(CALLS, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < CALLS; i++)
        CHECK(values[i] == i, "broadcast %d gave %d", i, values[i]);
    CALL(MPI_Comm_free(&copy));
}

/* Each constructor with an argument info gives its hints to the communicator. */
static void constructors_take_hints(MPI_Op op)
{
    const char *algorithm = "allreduce:reduce_bcast";
    MPI_Info info = hint_of(KEY, algorithm);
    MPI_Comm made[4];
    MPI_Request request;
    int next = (check_rank + 1) % check_size, one = 1;
    int before = (check_rank + check_size - 1) % check_size;
    CALL(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, info, &made[0]));
    CALL(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, MPI_UNWEIGHTED, 1, &next,
                                        MPI_UNWEIGHTED, info, 0, &made[1]));
    CALL(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &check_rank, &one, &next, MPI_UNWEIGHTED, info, 0,
                               &made[2]));
    CALL(MPI_Comm_idup_with_info(MPI_COMM_WORLD, info, &made[3], &request));
    CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CALL(MPI_Info_free(&info));
    for (int i = 0; i < 4; i++) {
        int size;
        shows(made[i], KEY, algorithm, "a new communicator");
        CALL(MPI_Comm_size(made[i], &size));
        if (size == check_size) {
            int folding = folding_ranks(made[i], op);
            CHECK(folding == 1, "%d ranks fold on communicator %d", folding, i);
        }
        CALL(MPI_Comm_free(&made[i]));
    }
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    if (argc > 1) {
        broadcasts_by_messages();
        return finish();
    }
    MPI_Op op;
    CALL(MPI_Op_create(add, 1, &op));
    selects("allreduce:reduce_bcast", 1, op);
    selects("bcast:binomial, allreduce:allgather_fold", check_size, op);
    ignores_what_is_wrong(op);
    constructors_take_hints(op);
    CALL(MPI_Op_free(&op));
    return finish();
}
