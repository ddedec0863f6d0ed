/* MPI_Comm_split with colours, keys, ties and MPI_UNDEFINED; split_type; create; create_group. MPI 5.0, 7.4.2 */
#include "check.h"

static void colours(void)
{
    MPI_Comm comm;
    int rank, size, sum, one = 1;
    /* Odd and even, in the opposite order. */
    CALL(MPI_Comm_split(MPI_COMM_WORLD, check_rank % 2, -check_rank, &comm));
    CALL(MPI_Comm_rank(comm, &rank));
    CALL(MPI_Comm_size(comm, &size));
    int members = (check_size + 1 - check_rank % 2) / 2;
    CHECK(size == members && rank == members - 1 - check_rank / 2, "rank %d of %d", rank, size);
    CALL(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK(sum == size, "sum %d", sum);
    CALL(MPI_Comm_free(&comm));
    /* Equal keys keep the old order. */
    CALL(MPI_Comm_split(MPI_COMM_WORLD, 7, 3, &comm));
    CALL(MPI_Comm_rank(comm, &rank));
    CHECK(rank == check_rank, "rank %d", rank);
    CALL(MPI_Comm_free(&comm));
    /* Some take no part. */
    CALL(MPI_Comm_split(MPI_COMM_WORLD, check_rank == 0 ? MPI_UNDEFINED : 0, 0, &comm));
    if (check_rank == 0)
        CHECK(comm == MPI_COMM_NULL, "MPI_UNDEFINED got a communicator");
    else {
        CALL(MPI_Comm_size(comm, &size));
        CHECK(size == check_size - 1, "size %d", size);
        CALL(MPI_Comm_free(&comm));
    }
    /* Everyone alone. */
    CALL(MPI_Comm_split(MPI_COMM_WORLD, check_rank, 0, &comm));
    CALL(MPI_Comm_size(comm, &size));
    CHECK(size == 1, "size %d", size);
    CALL(MPI_Comm_free(&comm));
}

/* How many ranks are on the host of this one, by its name. */
static int here(void)
{
    char own[MPI_MAX_PROCESSOR_NAME] = "", all[64][MPI_MAX_PROCESSOR_NAME];
    int length, count = 0;
    CALL(MPI_Get_processor_name(own, &length));
    CALL(MPI_Allgather(own, MPI_MAX_PROCESSOR_NAME, MPI_CHAR, all, MPI_MAX_PROCESSOR_NAME, MPI_CHAR, MPI_COMM_WORLD));
    for (int i = 0; i < check_size; i++)
        count += strcmp(own, all[i]) == 0;
    return count;
}

static void types(void)
{
    MPI_Comm comm;
    int size;
    CALL(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, check_rank, MPI_INFO_NULL, &comm));
    CALL(MPI_Comm_size(comm, &size));
    CHECK(size == here(), "%d ranks share memory, %d are on this host", size, here());
    CALL(MPI_Comm_free(&comm));
    CALL(MPI_Comm_split_type(MPI_COMM_WORLD, check_rank ? MPI_COMM_TYPE_SHARED : MPI_UNDEFINED, 0, MPI_INFO_NULL, &comm));
    CHECK((comm == MPI_COMM_NULL) == (check_rank == 0), "MPI_UNDEFINED and split_type");
    if (comm != MPI_COMM_NULL)
        CALL(MPI_Comm_free(&comm));
}

static void from_groups(void)
{
    MPI_Group world, part;
    MPI_Comm comm;
    int rank, ranges[1][3] = {{check_size - 1, 0, -1}};
    CALL(MPI_Comm_group(MPI_COMM_WORLD, &world));
    CALL(MPI_Group_range_incl(world, 1, ranges, &part));
    CALL(MPI_Comm_create(MPI_COMM_WORLD, part, &comm));
    CALL(MPI_Comm_rank(comm, &rank));
    CHECK(rank == check_size - 1 - check_rank, "rank %d in the reversed group", rank);
    CALL(MPI_Comm_free(&comm));
    CALL(MPI_Group_free(&part));
    /* Only a part of all: the others get null. */
    ranges[0][0] = 0, ranges[0][1] = (check_size - 1) / 2, ranges[0][2] = 1;
    CALL(MPI_Group_range_incl(world, 1, ranges, &part));
    CALL(MPI_Comm_create(MPI_COMM_WORLD, part, &comm));
    CHECK((comm != MPI_COMM_NULL) == (check_rank <= (check_size - 1) / 2), "MPI_Comm_create and who is not in the group");
    if (comm != MPI_COMM_NULL)
        CALL(MPI_Comm_free(&comm));
    /* MPI_Comm_create_group is called by the members alone. */
    if (check_rank <= (check_size - 1) / 2) {
        int size, sum, one = 1;
        CALL(MPI_Comm_create_group(MPI_COMM_WORLD, part, 17, &comm));
        CALL(MPI_Comm_size(comm, &size));
        CALL(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
        CHECK(size == (check_size - 1) / 2 + 1 && sum == size, "size %d sum %d", size, sum);
        CALL(MPI_Comm_free(&comm));
    }
    CALL(MPI_Group_free(&part));
    CALL(MPI_Group_free(&world));
    CALL(MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_EMPTY, &comm));
    CHECK(comm == MPI_COMM_NULL, "a communicator of the empty group");
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    colours();
    types();
    from_groups();
    return finish();
}
